import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { globMatches } from "../../src/policy/glob.ts";
import { type PolicyQuestion, readPolicy } from "../../src/policy/index.ts";

const schema = JSON.parse(readFileSync("schemas/policy.schema.json", "utf8")) as object;
const valid = new Ajv2020({ strict: false }).compile(schema);

describe("globs", () => {
  /** The definition, tried out: exponential, obviously right. */
  const naive = (pattern: string, text: string): boolean => {
    if (pattern === "") return text === "";
    if (pattern[0] !== "*") return text[0] === pattern[0] && text !== "" && naive(pattern.slice(1), text.slice(1));
    return naive(pattern.slice(1), text) || (text !== "" && naive(pattern, text.slice(1)));
  };
  const word = (letters: string[], maxLength: number) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((all) => all.join(""));

  test("agree with the definition", () => {
    fc.assert(
      fc.property(word(["a", "b", "*", "."], 7), word(["a", "b", "*", "."], 8), (pattern, text) => {
        expect(globMatches(pattern, text)).toBe(naive(pattern, text));
      }),
      { numRuns: 5000 },
    );
  });

  it("F3: a hostile text takes no time", () => {
    const started = performance.now();
    expect(globMatches(`${"*a".repeat(120)}*b`, "a".repeat(1_000_000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

const scalar = fc.oneof(fc.constantFrom("a", "b", ""), fc.integer({ min: 0, max: 2 }), fc.boolean(), fc.constant(null));
const text = fc.constantFrom("a", "b", "deploy");
const glob = fc.constantFrom("*", "a*", "*b", "deploy").map((pattern) => ({ glob: pattern }));
const matcher = fc.oneof(text, fc.uniqueArray(text, { minLength: 1, maxLength: 2 }), glob);
const pointer = fc.constantFrom("", "/env", "/list/0", "/a~1b", "/a~0b");
const argument = fc.oneof(
  scalar,
  fc.array(scalar, { minLength: 1, maxLength: 2 }),
  glob,
  fc.record({ equals: fc.jsonValue() }),
);
const when = fc.record(
  {
    server: matcher,
    tool: matcher,
    prompt: matcher,
    resource: matcher,
    key: matcher,
    kind: fc.constantFrom("form", "url", "sample", "roots"),
    hosts: fc.uniqueArray(fc.constantFrom("x.example", "x.example:8080", "localhost"), { minLength: 1 }),
    arguments: fc.dictionary(pointer, argument, { maxKeys: 2 }),
  },
  { requiredKeys: [] },
);
const said = fc.oneof(
  fc.constantFrom(
    { action: "ask" },
    { action: "decline" },
    { action: "accept" },
    { action: "fail", reason: "no" },
    { action: "accept", content: { confirm: true } },
    { action: "accept", content: { token: "t" }, allowSecretFields: ["token"] },
    { action: "accept", sample: { model: "m", text: "t" } },
    { action: "accept", roots: [{ uri: "file:///a" }] },
  ),
);
const rule = fc.record({ name: fc.constant("r"), when, then: said }, { requiredKeys: ["name", "then"] });
const policyOf = (rules: fc.Arbitrary<object[]>) =>
  fc.record(
    { version: fc.constant(1), rules, trustAnnotations: fc.constantFrom([], ["a"]), $schema: fc.constant("x") },
    { requiredKeys: ["version", "rules"] },
  );
/** Each its own name: what the schema cannot say. */
const named = (rules: object[]) => rules.map((one, index) => ({ ...one, name: `r${index}` }));

function accepts(file: unknown): boolean {
  try {
    readPolicy(file);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "configuration" });
    return false;
  }
}

/** `value` with one member, somewhere inside, replaced, removed, doubled or added. */
function damage(value: unknown, steps: readonly number[], with_: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined || typeof value !== "object" || value === null || Object.keys(value).length === 0)
    return with_;
  const keys = Object.keys(value);
  const key = keys[step % keys.length] as string;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  if (rest.length === 0 && step % 5 === 0) copy[`${key}x`] = with_;
  else if (rest.length === 0 && step % 5 === 1 && !Array.isArray(value)) delete copy[key];
  else copy[key] = damage(copy[key], rest, with_);
  return Array.isArray(value) ? [...(copy as unknown as unknown[])] : copy;
}

describe("the published schema and the reader accept the same files", () => {
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom("", "*.x", "accept", "decline", "url", ["a", "a"], { glob: "" }, { glob: "x".repeat(257) }, "a\nb"),
    fc.constantFrom("x".repeat(2001), "😀".repeat(100), "😀".repeat(101), Array(201).fill("a"), {
      equals: 1,
      glob: "a",
    }),
  );

  test("files of the grammar, possible or not", () => {
    let yes = 0;
    let no = 0;
    fc.assert(
      fc.property(policyOf(fc.array(rule, { maxLength: 1 })), (file) => {
        const read = accepts(file);
        if (read) yes += 1;
        else no += 1;
        expect(read).toBe(valid(file));
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(yes, no)).toBeGreaterThan(100);
  });

  test("damaged files", () => {
    fc.assert(
      fc.property(
        policyOf(fc.array(rule, { minLength: 1, maxLength: 1 })),
        fc.array(fc.nat(40), { minLength: 1, maxLength: 7 }),
        junk,
        (file, steps, value) => {
          const damaged = JSON.parse(JSON.stringify(damage(file, steps, value) ?? null)) as unknown;
          expect(accepts(damaged)).toBe(valid(damaged));
        },
      ),
      { numRuns: 6000 },
    );
  });
});

const question = fc
  .record({
    server: text,
    method: fc.constantFrom("tools/call", "prompts/get", "resources/read"),
    target: text,
    key: text,
    destructive: fc.boolean(),
    args: fc.dictionary(fc.constantFrom("env", "list", "a/b"), scalar),
    request: fc.constantFrom(
      {
        method: "elicitation/create",
        params: { message: "?", requestedSchema: { type: "object", properties: { confirm: { type: "boolean" } } } },
      },
      { method: "elicitation/create", params: { mode: "url", message: "?", url: "https://x.example/a" } },
      { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
      { method: "roots/list" },
    ),
  })
  .map(({ server, method, target, key, destructive, args, request }) => {
    const context = { server: { id: server }, method, target, key, round: 1, params: { arguments: args } };
    return { request, destructive, context } as unknown as PolicyQuestion;
  });
const rules = fc
  .array(
    rule.filter((one) => accepts({ version: 1, rules: [one] })),
    { maxLength: 5 },
  )
  .map(named);

describe("rules", () => {
  test("the first that matches decides: later ones change nothing, earlier ones that differ neither", () => {
    let decided = 0;
    fc.assert(
      fc.property(rules, question, (list, asked) => {
        const all = readPolicy({ version: 1, rules: list });
        const { decision, rules: reports } = all.explain(asked);
        expect(all.decide(asked)).toEqual(decision);
        const first = reports.findIndex(({ outcome }) => outcome === "decides");
        expect(reports.slice(0, Math.max(first, 0)).every(({ outcome }) => outcome === "differs")).toBe(true);
        if (first < 0) {
          expect(decision).toEqual({ type: "ask" });
          return;
        }
        decided += 1;
        for (let gone = first + 1; gone < list.length; gone++) {
          expect(readPolicy({ version: 1, rules: list.toSpliced(gone, 1) }).decide(asked)).toEqual(decision);
        }
        expect(readPolicy({ version: 1, rules: list.slice(first, first + 1) }).decide(asked)).toEqual(decision);
      }),
      { numRuns: 2000 },
    );
    expect(decided).toBeGreaterThan(100);
  });

  test("B32: a decline is only ever said by a rule whose action is decline", () => {
    fc.assert(
      fc.property(rules, question, (list, asked) => {
        const decision = readPolicy({ version: 1, rules: list }).decide(asked);
        if (decision.type !== "answer" || !("action" in decision.response)) return;
        const said = list.find((one) => (one as { name?: string }).name === decision.rule) as unknown as {
          then: { action: string };
        };
        expect(said.then.action).toBe(decision.response.action);
      }),
      { numRuns: 2000 },
    );
  });
});
