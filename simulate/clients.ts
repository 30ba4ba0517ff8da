/** Clients that follow the rules, and one that answers a round in two ways to see which counts. */
import type { InputRequests } from "../src/protocol/types.ts";
import { LEG_TIMEOUT_MS } from "./config.ts";
import { FORGED, type Judge } from "./judge.ts";
import type { Leg, Reply } from "./leg.ts";
import type { Mallory } from "./mallory.ts";
import { decision, type Plan } from "./plan.ts";
import type { RoundStage } from "./stage.ts";
import type { Wire } from "./wire.ts";

type World = RoundStage & { readonly judge: Judge; readonly wire: Wire; readonly mallory: Mallory };
type Answers = Record<string, unknown>;
type Call = Pick<Leg, "from" | "args" | "callId"> & { readonly plan: Plan };

export class Client {
  readonly #world: World;
  readonly #call: Call;
  readonly #greedy: boolean;
  /** Every answer given, by key: what the result tells must be among them. */
  readonly #given = new Map<string, Set<string>>();
  readonly #label: string;
  #answered = 0;
  ended = false;

  constructor(world: World, label: string, from: string, plan: Plan, named: boolean, greedy: boolean) {
    this.#world = world;
    this.#label = label;
    this.#greedy = greedy;
    this.#call = {
      from,
      args: { label, plan },
      callId: named ? world.rng.bytes(16).toString("base64url") : undefined,
      plan,
    };
  }

  async run(): Promise<void> {
    const { kernel, rng, mallory, log } = this.#world;
    await kernel.sleep(rng.int(0, 500));
    let questions: InputRequests = {};
    let state: string | undefined;
    for (;;) {
      const reply = await this.#round(questions, state);
      if (reply.kind !== "interim") {
        this.#check(reply);
        break;
      }
      const interim = JSON.parse(reply.bytes) as { inputRequests?: InputRequests; requestState: string };
      mallory.overheard(this.#label, state);
      questions = interim.inputRequests ?? {};
      state = interim.requestState;
      if (rng.chance(0.3)) await kernel.sleep(rng.int(0, 1_000));
    }
    mallory.overheard(this.#label, state);
    this.ended = true;
    log(() => `${this.#label} has ended`);
  }

  /** Sends one round until it is answered; greedily, with other answers at the same time. */
  async #round(questions: InputRequests, state: string | undefined): Promise<Reply> {
    const { judge } = this.#world;
    const bare = state === undefined && Object.keys(questions).length === 0;
    const choices =
      this.#greedy && !bare ? [this.#answer(questions), this.#answer(questions)] : [this.#answer(questions)];
    const replies = await Promise.all(
      choices.map((answers, index) => this.#sendUntilAnswered(bare ? undefined : answers, state, index)),
    );
    const taken = replies.filter(({ kind }) => kind !== "refused");
    if (taken.length === 0) judge.violation(`${this.#label} was refused: no answer of its own counted`);
    return taken[0] ?? (replies[0] as Reply);
  }

  #answer(questions: InputRequests): Answers {
    const { rng } = this.#world;
    const all = Object.entries(questions);
    const some = all.length > 1 && rng.chance(0.2) ? [rng.pick(all)] : all;
    const answers: Answers = {};
    for (const [key, request] of some) {
      const { message, requestedSchema } = request.params as {
        message: string;
        requestedSchema: { properties: object };
      };
      const confirms = "confirm" in requestedSchema.properties;
      const value = confirms ? decision(message) : `${message} <= ${this.#call.from} ${++this.#answered}`;
      answers[key] = { action: "accept", content: confirms ? { confirm: value } : { echo: value } };
      this.#given.set(key, (this.#given.get(key) ?? new Set()).add(String(value)));
    }
    if (this.#greedy) {
      // What is asked later, or never: answers in advance.
      for (const key of ["q1", "q2", "q3"])
        if (!(key in questions)) answers[key] = { action: "accept", content: { echo: FORGED } };
    }
    return answers;
  }

  /** Sends the same leg again when it was lost or may be tried again, as our driver does. */
  async #sendUntilAnswered(answers: Answers | undefined, state: string | undefined, choice: number): Promise<Reply> {
    const { kernel, rng, wire, config, faulty } = this.#world;
    const { from, args, callId } = this.#call;
    const leg: Leg = {
      from,
      args,
      callId,
      state,
      answers,
      must: "serve",
      what: `${this.#label}${choice > 0 ? "'" : ""}`,
    };
    for (;;) {
      const patience = faulty() && rng.chance(config.impatience) ? rng.int(1, 300) : LEG_TIMEOUT_MS;
      const reply = await new Promise<Reply | undefined>((resolve) => {
        const leave = wire.send(leg, (arrived) => resolve(arrived));
        kernel.after(patience, undefined, () => {
          if (rng.chance(0.7)) leave();
          resolve(undefined);
        });
      });
      if (reply !== undefined && reply.kind !== "again" && reply.kind !== "gone") return reply;
      await kernel.sleep(rng.int(20, 300));
    }
  }

  #check({ kind, bytes }: Reply): void {
    const { judge } = this.#world;
    const fails = this.#call.plan.some((op) => "fail" in op);
    if (fails ? kind === "threw" && bytes.includes("planned failure") : kind === "result") {
      if (kind === "threw") return;
      const seen = JSON.parse(bytes) as Record<string, string>;
      for (const [key, answers] of this.#given) {
        if (seen[key] !== undefined && !answers.has(seen[key]))
          judge.violation(`the result tells an answer to ${key} that was not given`);
      }
      return;
    }
    judge.violation(`${this.#label} ended as ${kind}: ${bytes}`);
  }
}
