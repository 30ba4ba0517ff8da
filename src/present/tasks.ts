/** Calls that go on as tasks, as lines for a person: in the host's words, the server's quoted, and not too many of them. */
import { type Clock, systemClock } from "../calls/clock.ts";
import type { CallEvent } from "../calls/events.ts";
import { host, inert, inline, type Safe, say } from "./text.ts";

export interface TaskLinesOptions {
  /** `callId`: a later line of the same call says all that matters of an earlier one. */
  readonly print: (line: Safe, callId: string) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Lines about one call that come at once; after them one each {@link EVERY_MS}, the latest. */
const AT_ONCE = 5;
const EVERY_MS = 2000;
/** Longest words of a server in a line. */
const MAX_MESSAGE = 300;

/** The words of the extension; any other is the server's, and quoted. */
const STATUSES = new Set<string>(["working", "input_required", "completed", "failed", "cancelled"]);
const OVER = new Set<string>(["completed", "failed", "cancelled"]);

/** What is told of one task. */
class Teller {
  readonly #name: Safe;
  readonly #callId: string;
  readonly #options: Required<TaskLinesOptions>;
  #budget = AT_ONCE;
  #next: Safe | undefined;
  #cancel: (() => void) | undefined;
  #isOut = false;
  over = false;

  constructor(event: CallEvent, options: Required<TaskLinesOptions>) {
    this.#name = say`The task of “${inert(event.target, 100)}” at server “${inline(event.server, 100)}”`;
    this.#callId = event.callId;
    this.#options = options;
  }

  /** Once for each time that it is. */
  tellOut(): void {
    if (!this.#isOut) this.tell(host(": the server cannot be reached; looking again."));
    this.#isOut = true;
  }

  tellStatus(event: TaskWord): void {
    const status = statusOf(event);
    this.tell(this.#isOut ? say`: the server is back. It${status}` : status);
    this.#isOut = false;
  }

  /** How it goes: the latest counts. */
  tell(what: Safe): void {
    this.#next = say`${this.#name}${what}`;
    this.#refill();
    if (this.#budget > 0) this.#flush();
  }

  /** What must be said; nothing is said of how it goes any more. */
  insist(what: Safe): void {
    this.stop();
    this.#options.print(say`${this.#name}${what}`, this.#callId);
  }

  stop(): void {
    this.#isOut = false;
    this.#next = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #flush(): void {
    if (this.#next === undefined) return;
    this.#budget -= 1;
    this.#options.print(this.#next, this.#callId);
    this.#next = undefined;
  }

  #refill(): void {
    this.#cancel ??= this.#options.clock.after(EVERY_MS, () => {
      this.#cancel = undefined;
      this.#budget = Math.min(AT_ONCE, this.#budget + 1);
      this.#flush();
      if (this.#budget < AT_ONCE) this.#refill();
    });
  }
}

/**
 * An observer for `createCalls` that tells how tasks go: their status and message as they change, a server that cannot be
 * reached, and what became of the task of a call that ended early. It holds no more than the calls that are tasks now.
 */
export function taskLines({ print, clock = systemClock }: TaskLinesOptions): (event: CallEvent) => void {
  const tellers = new Map<string, Teller>();
  const end = (id: string): void => {
    tellers.get(id)?.stop();
    tellers.delete(id);
  };
  return (event) => {
    const { callId } = event;
    const known = tellers.get(callId);
    if (event.type === "task") {
      const teller = known ?? new Teller(event, { print, clock });
      tellers.set(callId, teller);
      teller.over = OVER.has(event.status);
      // What it asks is put, and what it ends with is shown.
      if (teller.over || event.status === "input_required") teller.stop();
      else teller.tellStatus(event);
    } else if (known === undefined) {
      return;
    } else if (event.type === "resent") {
      known.tellOut();
    } else if (event.type === "aborted") {
      if (event.left === true) end(callId);
      else known.stop();
    } else if (event.type === "task_cancel") {
      known.insist(
        event.acknowledged ? host(" was cancelled.") : host(" could not be cancelled, and may go on there."),
      );
      end(callId);
    } else if (event.type === "failed") {
      if (!known.over) known.insist(host(" may go on there; nobody here looks after it any more."));
      end(callId);
    } else if (event.type === "complete") {
      end(callId);
    }
  };
}

interface TaskWord {
  readonly status: string;
  readonly statusMessage?: string;
}

function statusOf({ status, statusMessage }: TaskWord): Safe {
  const word = STATUSES.has(status) ? say` is ${inert(status)}` : say` is “${inert(status, 50)}”`;
  return statusMessage === undefined ? say`${word}.` : say`${word}: “${inert(statusMessage, MAX_MESSAGE)}”`;
}
