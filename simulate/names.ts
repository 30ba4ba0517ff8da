/** Short names for what is long, so that a history can be read. */
import type { RoundKey } from "../src/ledger/contract.ts";
import type { Leg, Reply } from "./leg.ts";

export class Names {
  readonly #calls = new Map<string, string>();
  readonly #states = new Map<string, string>();

  call(digest: string, label: string): void {
    if (!this.#calls.has(digest)) this.#calls.set(digest, `${label}-${digest.slice(0, 3)}`);
  }

  round({ call, round }: RoundKey): string {
    return `${this.#calls.get(call) ?? call.slice(0, 6)}#${round}`;
  }

  leg({ state, answers }: Leg): string {
    const given = answers === undefined ? "" : ` answering ${JSON.stringify(answers)}`;
    return `${state === undefined ? "(first)" : this.#state(state)}${given}`;
  }

  reply({ kind, bytes }: Reply): string {
    if (kind !== "interim") return bytes;
    const { inputRequests, requestState } = JSON.parse(bytes) as { inputRequests?: object; requestState: string };
    return `asks ${Object.keys(inputRequests ?? {}).join(", ")} with ${this.#state(requestState)}`;
  }

  #state(state: string): string {
    const known = this.#states.get(state) ?? `state${this.#states.size + 1}`;
    this.#states.set(state, known);
    return known;
  }
}
