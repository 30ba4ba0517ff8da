/** Somebody who hears everything on the wire, and sends what the table of refusals forbids. */
import { CLOCK_SKEW_MS, FAULTS_END_MS, ROUND_TTL_MS } from "./config.ts";
import { FORGED } from "./judge.ts";
import type { Leg } from "./leg.ts";
import type { Stage } from "./life.ts";
import type { Wire } from "./wire.ts";

type World = Stage & { readonly wire: Wire };

const FORGED_ANSWERS = Object.fromEntries(
  ["q1", "q2", "c1", "c2"].map((key) => [key, { action: "accept", content: { echo: FORGED, confirm: true } }]),
);

export class Mallory {
  readonly #world: World;
  /** Rounds whose client has its answer: what is sent for them now is too late to count. */
  readonly #over = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A client took an answer to the round that this state (or, without one, this call's beginning) stands for. */
  overheard(label: string, state: string | undefined): void {
    this.#over.add(state ?? label);
  }

  async run(count: number): Promise<void> {
    const { kernel, rng, wire } = this.#world;
    for (let attack = 0; attack < count; attack++) {
      await kernel.sleep(rng.int(50, (2 * FAULTS_END_MS) / count));
      if (wire.heard.length === 0) continue;
      const leg = this.#attack(rng.pick(wire.heard).leg);
      if (leg !== undefined) wire.send(leg, () => undefined);
    }
    if (count > 0 && rng.chance(0.5)) await this.#afterwards();
  }

  /** Waits until a state is about to expire, or has: the ledger must remember its round for as long as it may be used. */
  async #afterwards(): Promise<void> {
    const { kernel, rng, wire } = this.#world;
    const old = wire.heard.filter(({ leg }) => leg.state !== undefined);
    if (old.length === 0) return;
    const { leg, at } = rng.pick(old);
    const ageMs = ROUND_TTL_MS + rng.int(-2 * CLOCK_SKEW_MS, 3 * CLOCK_SKEW_MS);
    await kernel.sleep(Math.max(0, at + ageMs - kernel.now));
    const other = rng.chance(0.5) && this.#over.has(leg.state as string);
    const answers = other ? FORGED_ANSWERS : leg.answers;
    // It was sealed before it was sent, by a clock that may be ahead.
    const must = other || ageMs > ROUND_TTL_MS + CLOCK_SKEW_MS ? "refuse" : "any";
    wire.send({ ...leg, answers, must, what: "an old state" }, () => undefined);
    await kernel.sleep(2 * CLOCK_SKEW_MS);
  }

  #attack(leg: Leg): Leg | undefined {
    const { rng } = this.#world;
    const { state, args } = leg;
    const must = "refuse";
    const over = this.#over.has(state ?? (args as { label: string }).label);
    if (state === undefined) {
      const attacks: (() => Leg | undefined)[] = [
        () => ({ ...leg, must: "any", what: "the same beginning again" }),
        // Its own call, which must not be given what the other one got.
        () => ({ ...leg, from: "mallory", must: "any", what: "somebody else's beginning" }),
        () => ({
          ...leg,
          callId: rng.bytes(16).toString("base64url"),
          answers: FORGED_ANSWERS,
          must: "any",
          what: "a forged beginning",
        }),
        () =>
          over && leg.callId ? { ...leg, answers: FORGED_ANSWERS, must, what: "a beginning with answers" } : undefined,
      ];
      return rng.pick(attacks)();
    }
    const attacks: (() => Leg | undefined)[] = [
      () => ({ ...leg, must: "any", what: "the same round again" }),
      () => ({ ...leg, from: "mallory", must, what: "somebody else's state" }),
      () => ({ ...leg, args: { ...args, more: 1 }, must, what: "a state with other arguments" }),
      () => ({ ...leg, state: tampered(state, rng.int(0, state.length - 1)), must, what: "a tampered state" }),
      () => ({ ...leg, state: state.slice(0, rng.int(0, state.length - 1)), must, what: "a cut state" }),
      () =>
        over
          ? { ...leg, answers: { ...leg.answers, ...FORGED_ANSWERS }, must, what: "other answers, later" }
          : undefined,
      () => (over ? { ...leg, answers: undefined, must, what: "no answers, later" } : undefined),
    ];
    return rng.pick(attacks)();
  }
}

/** Another character of the same alphabet. */
function tampered(state: string, at: number): string {
  const other = state[at] === "A" ? "B" : "A";
  return `${state.slice(0, at)}${other}${state.slice(at + 1)}`;
}
