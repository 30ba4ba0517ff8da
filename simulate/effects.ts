/** The outside world that steps act on: it counts, and says when something happened twice that must not. */
import type { StepContext } from "../src/replay/types.ts";
import type { Delivery } from "./leg.ts";
import type { Fault } from "./life.ts";
import type { Step } from "./plan.ts";
import type { RoundStage } from "./stage.ts";

/** One time that a step did something, or set out to. */
interface Attempt {
  readonly delivery: Delivery;
  readonly startedAt: number;
  readonly idempotencyKey: string;
  applied: boolean;
}

export class Effects {
  readonly #world: RoundStage;
  readonly #violation: (what: string) => void;
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #keys = new Map<string, string>();
  #count = 0;
  repeated = 0;

  constructor(world: RoundStage, violation: (what: string) => void) {
    this.#world = world;
    this.#violation = violation;
  }

  /** Works for `ms`, asks the outside world to act, and gives back its receipt; the process may die at any point. */
  async act(delivery: Delivery, callId: string, op: Step, context: StepContext): Promise<string> {
    const { kernel, rng, log, critical } = this.#world;
    const { incarnation } = delivery;
    const { step } = op;
    const { signal, idempotencyKey } = context;
    const attempt: Attempt = { delivery, startedAt: kernel.now, idempotencyKey, applied: false };
    log(() => `${incarnation.name} starts ${step}`);
    await new Promise<void>((resolve, reject) => {
      kernel.after(op.ms, incarnation, resolve);
      if (op.heeds) signal.addEventListener("abort", () => reject(signal.reason));
    });
    return new Promise((resolve) => {
      kernel.after(rng.int(0, 3), undefined, () => {
        this.#apply(callId, step, attempt);
        critical(incarnation);
        const receipt = `${step}=${++this.#count}`;
        log(() => `EFFECT ${receipt} by ${incarnation.name}`);
        kernel.after(rng.int(0, 3), incarnation, () => resolve(receipt));
      });
    });
  }

  #apply(callId: string, step: string, attempt: Attempt): void {
    const name = `${callId}/${step}`;
    const owner = this.#keys.get(attempt.idempotencyKey) ?? name;
    this.#keys.set(attempt.idempotencyKey, owner);
    if (owner !== name) this.#violation(`idempotency key of ${owner} was used for ${name}`);
    attempt.applied = true;
    const attempts = this.#attempts.get(name) ?? [];
    for (const other of attempts) {
      if (other.idempotencyKey !== attempt.idempotencyKey) this.#violation(`${step} ran twice under two keys`);
      const [first, second] = other.startedAt <= attempt.startedAt ? [other, attempt] : [attempt, other];
      if (excuse(first, second) === undefined)
        this.#violation(`effect of ${step} happened twice, and no fault came between it and its record`);
      this.repeated++;
    }
    this.#attempts.set(name, [...attempts, attempt]);
    const [base, branch] = step.split("-");
    const rival = branch === undefined ? undefined : `${callId}/${base}-${1 - Number(branch)}`;
    if (rival !== undefined && this.#attempts.has(rival)) this.#violation(`both ends of race ${base} took effect`);
  }
}

/** A crash, a lost lease or a fault of the store that hit the first attempt's replica before the second began. */
function excuse({ delivery }: Attempt, second: Attempt): Fault | undefined {
  return delivery.incarnation.faults.find(({ at }) => at >= delivery.startedAt && at <= second.startedAt);
}
