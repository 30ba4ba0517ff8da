import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFlow } from "../../src/flow/flow.ts";
import type { Flow } from "../../src/index.ts";
import { tool } from "../../src/index.ts";
import { decodeState, encodeState } from "../../src/journal/codec.ts";
import type { Entry } from "../../src/journal/entry.ts";
import { runRound } from "../../src/replay/round.ts";
import { nodeDeps } from "../../src/server/deps.ts";
import { playFlow, startFlow, yes } from "../../src/testing.ts";

/** A random flow: questions and steps, one after the other or side by side, with idle promises in between. */
type Program =
  | { op: "ask"; key: string }
  | { op: "step"; key: string; hops: number; waits: boolean }
  | { op: "hops"; count: number }
  | { op: "seq" | "all" | "race"; parts: Program[] };

const programs = (withRaces: boolean) => {
  const leaf: fc.Arbitrary<Program> = fc.oneof(
    fc.constant<Program>({ op: "ask", key: "" }),
    fc.record({ op: fc.constant("step" as const), key: fc.constant(""), hops: fc.nat(5), waits: fc.boolean() }),
    fc.record({ op: fc.constant("hops" as const), count: fc.nat(6) }),
  );
  const ops = withRaces ? (["seq", "all", "race"] as const) : (["seq", "all"] as const);
  const { node } = fc.letrec<{ node: Program }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ op: fc.constantFrom(...ops), parts: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
    ),
  }));
  return node.map((program) => numbered(program));
};

/** Gives every question and step its own key. */
function numbered(program: Program): Program {
  let next = 0;
  const walk = (part: Program): Program => {
    if (part.op === "ask" || part.op === "step") return { ...part, key: `${part.op}-${next++}` };
    return part.op === "hops" ? part : { ...part, parts: part.parts.map(walk) };
  };
  return walk(program);
}

interface Trace {
  steps: string[];
  winners: Map<Program, Set<string>>;
}

async function interpret(program: Program, flow: Flow, trace: Trace): Promise<unknown> {
  switch (program.op) {
    case "ask":
      return flow.confirm(program.key, `${program.key}?`);
    case "step":
      return flow.step(program.key, async () => {
        trace.steps.push(program.key);
        for (let hop = 0; hop < program.hops; hop++) await null;
        if (program.waits) await new Promise((resolve) => setImmediate(resolve));
        return program.key;
      });
    case "hops":
      for (let hop = 0; hop < program.count; hop++) await null;
      return "hops";
    case "seq": {
      const values: unknown[] = [];
      for (const part of program.parts) values.push(await interpret(part, flow, trace));
      return values;
    }
    case "all":
      return Promise.all(program.parts.map((part) => interpret(part, flow, trace)));
    case "race": {
      const racers = program.parts.map(async (part, index) => [index, await interpret(part, flow, trace)] as const);
      const [winner, value] = await Promise.race(racers);
      trace.winners.set(program, (trace.winners.get(program) ?? new Set()).add(String(winner)));
      return [winner, value];
    }
  }
}

const depthOf = (program: Program): number => {
  if (program.op === "ask") return 1;
  if (program.op === "step" || program.op === "hops") return 0;
  const depths = program.parts.map(depthOf);
  return program.op === "seq" ? depths.reduce((sum, depth) => sum + depth, 0) : Math.max(...depths);
};

const keysOf = (program: Program, op: "ask" | "step"): string[] => {
  if (program.op === "ask" || program.op === "step") return program.op === op ? [program.key] : [];
  return program.op === "hops" ? [] : program.parts.flatMap((part) => keysOf(part, op));
};

const toolOf = (program: Program, trace: Trace) =>
  tool("random", {}, async (_args, flow) => ({
    content: [{ type: "text", text: JSON.stringify(await interpret(program, flow, trace)) }],
  }));
const newTrace = (): Trace => ({ steps: [], winners: new Map() });
const limits = { questions: 100, rounds: 200, stateBytes: 1_000_000 };
const answersFor = (program: Program) => Object.fromEntries(keysOf(program, "ask").map((key) => [key, yes()]));
const runs = { numRuns: 150 };

describe("engine over random flows", () => {
  it("the number of rounds is the depth of dependent questions, and every step runs once", () =>
    fc.assert(
      fc.asyncProperty(programs(false), async (program) => {
        const trace = newTrace();
        const { rounds } = await playFlow(toolOf(program, trace), { limits, answers: answersFor(program) });
        expect(rounds.length).toBe(depthOf(program) + 1);
        expect([...trace.steps].sort()).toEqual(keysOf(program, "step").sort());
      }),
      runs,
    ));

  it("however the answers trickle in, the result is the same and no step runs twice", () =>
    fc.assert(
      fc.asyncProperty(programs(false), fc.infiniteStream(fc.nat(1000)), async (program, choices) => {
        const whole = await playFlow(toolOf(program, newTrace()), { limits, answers: answersFor(program) });
        const trace = newTrace();
        const call = startFlow(toolOf(program, trace), { limits });
        let round = await call.next();
        while (round.result === undefined) {
          const keys = Object.keys(round.questions);
          const one = keys[(choices.next().value as number) % keys.length] as string;
          round = await call.next({ [one]: yes() });
        }
        expect(round.result).toEqual(whole.result);
        expect([...trace.steps].sort()).toEqual(keysOf(program, "step").sort());
      }),
      runs,
    ));

  it("a request that is lost and sent again from any earlier state gives the same result", () =>
    fc.assert(
      fc.asyncProperty(programs(false), fc.nat(1000), async (program, at) => {
        const call = startFlow(toolOf(program, newTrace()), { limits });
        const answers = answersFor(program);
        let round = await call.next();
        while (round.result === undefined) round = await call.next(answers);
        const states = call.rounds.flatMap(({ requestState }) => (requestState === undefined ? [] : [requestState]));
        if (states.length === 0) return;
        let again = await call.next(answers, { requestState: states[at % states.length] });
        while (again.result === undefined) again = await call.next(answers);
        expect(again.result).toEqual(round.result);
      }),
      runs,
    ));

  it("design 3.10 with the replay switch nothing changes: result, rounds, steps, races", () =>
    fc.assert(
      fc.asyncProperty(programs(true), async (program) => {
        const [plain, replayed] = [newTrace(), newTrace()];
        const options = { limits, answers: answersFor(program) };
        const play = (trace: Trace, replay: "when-needed" | "every-step") =>
          playFlow(toolOf(program, trace), { ...options, replay });
        const first = await play(plain, "when-needed");
        const second = await play(replayed, "every-step");
        expect(new Set(replayed.steps).size).toBe(replayed.steps.length);
        expect(second.rounds.map((round) => Object.keys(round.questions))).toEqual(
          first.rounds.map((round) => Object.keys(round.questions)),
        );
        expect(second.result).toEqual(first.result);
      }),
      runs,
    ));

  it("design 3.1 a race has one winner, in whichever run of the call it is looked at", () =>
    fc.assert(
      fc.asyncProperty(programs(true), async (program) => {
        const trace = newTrace();
        const wrapped: Program = {
          op: "seq",
          parts: [program, { op: "ask", key: "end-1" }, { op: "ask", key: "end-2" }],
        };
        await playFlow(toolOf(wrapped, trace), { limits, answers: answersFor(wrapped) });
        for (const winners of trace.winners.values()) expect([...winners]).toHaveLength(1);
      }),
      runs,
    ));

  it("serial and concurrent authoring of the same questions record the same entries", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), async (count) => {
        const keys = Array.from({ length: count }, (_, index) => `q${index}`);
        const serial = await journalOf(keys, async (flow) => {
          const asked = keys.map((key) => flow.confirm(key, `${key}?`));
          for (const answer of asked) await answer;
        });
        const concurrent = await journalOf(keys, (flow) =>
          Promise.all(keys.map((key) => flow.confirm(key, `${key}?`))),
        );
        expect(serial).toEqual(concurrent);
        expect(serial.map((entry) => entry.key)).toEqual(keys);
      }),
      { numRuns: 20 },
    ));

  it("the codec gives back what it was given", () => {
    const settled = fc.oneof(
      fc.record({ action: fc.constant("accept" as const), content: fc.jsonValue() as fc.Arbitrary<never> }),
      fc.record({ action: fc.constantFrom("accept" as const, "decline" as const, "cancel" as const) }),
      fc.record({ action: fc.constant("invalid" as const), reason: fc.string() }),
      fc.constant(null),
    );
    const kind = fc.constantFrom("form" as const, "url" as const, "sample" as const, "roots" as const);
    const failure = fc.record({ name: fc.string(), message: fc.string() });
    const entry = fc.oneof(
      fc.record({ type: fc.constant("answer" as const), key: fc.string(), kind, digest: fc.string(), settled }),
      fc.record({ type: fc.constant("step" as const), key: fc.string(), value: fc.jsonValue() as fc.Arbitrary<never> }),
      fc.record({ type: fc.constant("step" as const), key: fc.string() }),
      fc.record({ type: fc.constant("step" as const), key: fc.string(), failure }),
    );
    const pending = fc.record({
      key: fc.string(),
      kind,
      digest: fc.string(),
      attempts: fc.nat(5),
      changes: fc.nat(5),
    });
    fc.assert(
      fc.property(fc.array(entry), fc.array(pending), fc.nat(100), (journal, open, round) => {
        const state = { callId: "c", round, version: "v", journal, pending: open };
        const back = decodeState(encodeState(state as never));
        expect(back?.state).toEqual(JSON.parse(JSON.stringify(state)));
      }),
    );
  });
});

/** The journal after one round that answers all `keys`. */
async function journalOf(keys: string[], flow: (flow: Flow) => Promise<unknown>): Promise<Entry[]> {
  const deps = nodeDeps("call");
  const base = {
    capabilities: undefined,
    limits: { attempts: 3, changes: 3, questions: 50, divergenceGraceMs: 10 },
    signal: new AbortController().signal,
    replay: "when-needed" as const,
    onEvent: () => undefined,
  };
  const context = {
    signal: base.signal,
    caller: null,
    round: 0,
    callId: "call",
    capabilities: undefined,
    sendProgress: async () => undefined,
  };
  const run = (journal: Entry[], pending: never[], responses: Record<string, unknown>) =>
    runRound(
      async (asker) => {
        const own = createFlow(asker, context);
        await flow(own);
        await own.confirm("last", "Last?");
      },
      { ...base, journal, pending, responses },
      deps,
    );
  const asked = await run([], [], {});
  if (asked.kind !== "asking") throw new Error(asked.kind);
  const answered = await run(
    asked.journal,
    asked.pending as never[],
    Object.fromEntries(keys.map((key) => [key, yes()])),
  );
  if (answered.kind !== "asking") throw new Error(answered.kind);
  return answered.journal;
}
