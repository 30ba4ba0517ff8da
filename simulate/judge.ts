/** Watches everything and says which promise was broken. It knows more than any part of the world does. */
import type { Claim, ClaimRequest, Hold } from "../src/ledger/contract.ts";
import { ledgerCall } from "../src/server/once-server.ts";
import { readRecords } from "../src/server/step-record.ts";
import { createVault } from "../src/server/vault.ts";
import { createKeyRing } from "../src/state/index.ts";
import { Effects } from "./effects.ts";
import type { Delivery, Leg, Reply } from "./leg.ts";
import type { Life } from "./life.ts";
import { decision, type Scene } from "./plan.ts";
import type { RoundStage } from "./stage.ts";

interface Holder {
  readonly owner: string;
  readonly incarnation: Life;
  until: number;
}

/** Marks answers that nobody was asked for: a flow must never see one. */
export const FORGED = "forged";

export class Judge {
  readonly #world: RoundStage;
  readonly effects: Effects;
  readonly #holders = new Map<string, Holder>();
  readonly #recorded = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #outcomes = new Map<string, { readonly answers: string; readonly bytes: string }>();
  readonly #interims = new Map<string, string>();
  readonly #vault;
  broken: string | undefined;

  constructor(world: RoundStage) {
    this.#world = world;
    this.effects = new Effects(world, (what) => this.violation(what));
    const random = (bytes: number) => Buffer.alloc(bytes);
    this.#vault = createVault(createKeyRing({ keys: world.secrets, random }), random);
  }

  violation(text: string): void {
    this.#world.log(() => `VIOLATION: ${text}`);
    this.broken ??= text;
  }

  /** What a flow of this delivery does and sees. */
  sceneOf(delivery: Delivery): Scene {
    const { label } = delivery.leg.args as { label: string };
    let holdName = "";
    return {
      begun: (callId, round) => {
        const call = ledgerCall(callId);
        this.#world.names.call(call, label);
        holdName = nameOf({ call, round });
        this.#world.log(() => `${delivery.incarnation.name} runs round ${round} of ${label} for #${delivery.id}`);
      },
      asked: () => undefined,
      effect: (step, context, callId) => {
        this.#mayStart(holdName, step.step, delivery.incarnation);
        return this.effects.act(delivery, callId, step, context);
      },
      answered: (key, message, answer) => {
        if (answer.includes(FORGED)) this.violation(`${key} took an answer to a question that had not been asked`);
        const fits = answer.startsWith(`${message} <= `) || answer === String(decision(message));
        if (!fits) this.violation(`"${answer}" was applied to the question "${message}"`);
      },
    };
  }

  /** A step starts under its replica's lease only, and never when its end is on record. */
  #mayStart(round: string, step: string, incarnation: Life): void {
    if (!this.#strict) return;
    const holder = this.#holders.get(round);
    if (holder?.incarnation !== incarnation || this.#world.kernel.now >= holder.until)
      this.violation(`${step} started on ${incarnation.name}, which did not hold the round`);
    if (this.#settled.has(round)) this.violation(`${step} started in a round that had ended`);
    const [call] = round.split("#");
    if (this.#recorded.has(`${call}/${step}`)) this.violation(`${step} ran again though its end was recorded`);
  }

  claimed(incarnation: Life, request: ClaimRequest, claim: Claim): void {
    if (!this.#strict || claim.type !== "won") return;
    const { now } = this.#world.kernel;
    const holder = this.#holders.get(nameOf(request));
    if (holder !== undefined && holder.owner !== request.owner && holder.until > now)
      this.violation("the store gave away a round that was held");
    this.#holders.set(nameOf(request), { owner: request.owner, incarnation, until: now + request.leaseMs });
  }

  recorded(hold: Hold, entry: Uint8Array, leaseMs: number): void {
    if (!this.#strict) return;
    this.renewed(hold, leaseMs);
    const { entries, finished } = readRecords([this.#vault.open(entry, hold, "step")]);
    for (const { key } of [...entries, ...finished.values()]) this.#recorded.add(`${hold.call}/${key}`);
  }

  renewed(hold: Hold, leaseMs: number): void {
    const holder = this.#holders.get(nameOf(hold));
    if (holder?.owner === hold.owner) holder.until = this.#world.kernel.now + leaseMs;
  }

  settled(hold: Hold): void {
    this.#settled.add(nameOf(hold));
  }

  released(hold: Hold): void {
    if (this.#holders.get(nameOf(hold))?.owner === hold.owner) this.#holders.delete(nameOf(hold));
  }

  /** What a replica answers. Whoever asks with one state, or one call id and no state yet, gets one outcome. */
  replied(leg: Leg, { kind, bytes }: Reply): void {
    if (kind === "refused" || kind === "again" || kind === "gone") return;
    if (leg.must === "refuse") {
      this.violation(`${leg.what} was served`);
      return;
    }
    const round = leg.state ?? (leg.callId && `${leg.from} ${leg.callId}`);
    if (round === undefined) return;
    const answers = JSON.stringify(leg.answers ?? {});
    // States are never alike, so nobody is given what was made for another round.
    if (kind === "interim" && (this.#interims.get(bytes) ?? round) !== round)
      this.violation(`${leg.what} got another's state`);
    this.#interims.set(bytes, round);
    const known = this.#outcomes.get(round) ?? { answers, bytes };
    this.#outcomes.set(round, known);
    if (known.answers !== answers) this.violation("one round counted with two sets of answers");
    else if (known.bytes !== bytes) this.violation("two deliveries of one round were answered differently");
  }

  get #strict(): boolean {
    // A mutant is to be caught by what it does, not by what it is.
    return this.#world.mutant === undefined;
  }
}

function nameOf({ call, round }: { call: string; round: number }): string {
  return `${call}#${round}`;
}
