import { ParleyError } from "../errors.ts";
import type { Flow } from "../flow/types.ts";
import type { Ledger } from "../ledger/contract.ts";
import type { Principal } from "../state/index.ts";
import { digestFor } from "./digest.ts";
import type { ResolvedOptions } from "./options.ts";
import { createVault } from "./vault.ts";

export interface TicketOptions {
  /** The address of your own page for a ticket, such as `https://example.com/connect?ticket=...` (E9). */
  readonly url: (ticket: string) => string;
  /** How long a ticket can be opened, in ms. Default 600,000. */
  readonly ttlMs?: number;
}

/** Who is logged in at the page: the subject of the page's own session, and its issuer where there are several. */
export interface PageSubject {
  readonly subject: string;
  readonly issuer?: string;
}

/** A ticket that was opened by the person it was made for. */
export interface OpenedTicket {
  readonly id: string;
  readonly callId: string;
}

/**
 * Links that only the person who started the call can complete (E5, E6). A ticket is sealed, unguessable, short-lived,
 * bound to a call and its caller, and can be opened once.
 */
export interface Tickets {
  /**
   * Asks the caller to open your page, and waits until {@link complete} was called for the ticket.
   * Throws as `flow.url` does. The caller must be authenticated: a link for nobody could be completed by anybody.
   */
  ask(flow: Flow, key: string, question: TicketQuestion): Promise<void>;
  /**
   * For your page: the ticket, if `subject` is whom it was made for and it was not opened before.
   * @throws ParleyError `ticket_refused`, alike for unknown, expired, used and other people's tickets.
   */
  open(ticket: string, subject: PageSubject): Promise<OpenedTicket>;
  /** For your page: what the link was for is done. The waiting call goes on. */
  complete(opened: OpenedTicket): Promise<void>;
}

export interface TicketQuestion {
  readonly message: string;
  /** Time in all, in ms. Default: the ticket's own time. */
  readonly waitMs?: number;
  /** How long one round may wait, in ms. Default 25,000. */
  readonly pollMs?: number;
  /** Pause between two looks, in ms. Default 500. */
  readonly everyMs?: number;
}

interface Sealed {
  readonly i: string;
  readonly c: string;
  readonly x: number;
  readonly p: Principal;
}

const OPENED = 0;
const COMPLETED = 1;
/** A look that finds nothing has claimed the row for a moment; this bounds the moment if the process dies in it. */
const LOOK_MS = 1_000;
/** Tickets are sealed for no round of any call. */
const NO_ROUND = { call: "ticket", round: 0 };

export function createTickets(resolved: ResolvedOptions, options: TicketOptions): Tickets {
  const { ledger, now, random } = resolved;
  if (ledger === undefined) {
    throw new ParleyError(
      "configuration",
      "tickets: a ticket is opened once, so createParley needs the option ledger.",
    );
  }
  const vault = createVault(resolved.ring, random);
  const marks = new Marks(ledger.store, () => random(16).toString("base64url"), resolved.keepMs);
  const ttlMs = options.ttlMs ?? 600_000;

  function issue(flow: Flow): { id: string; ticket: string } {
    if (flow.caller?.subject === undefined) {
      throw new ParleyError("ticket_refused", "A ticket needs an authenticated caller with a subject (E6).");
    }
    const id = random(16).toString("base64url");
    const sealed: Sealed = { i: id, c: flow.callId, x: now() + ttlMs, p: flow.caller };
    return { id, ticket: Buffer.from(vault.seal(JSON.stringify(sealed), NO_ROUND, "ticket")).toString("base64url") };
  }

  return {
    async ask(flow, key, { message, waitMs = ttlMs, pollMs, everyMs }) {
      const { id, ticket } = await flow.step(`${key}#ticket`, () => issue(flow));
      await flow.url(key, {
        message,
        url: options.url(ticket),
        until: () => marks.isSet(id, COMPLETED),
        waitMs,
        ...(pollMs !== undefined && { pollMs }),
        ...(everyMs !== undefined && { everyMs }),
      });
    },
    async open(ticket, subject) {
      const sealed = read(ticket);
      if (sealed === undefined || sealed.x <= now() || !isFor(sealed.p, subject)) throw refused();
      if (!(await marks.set(sealed.i, OPENED))) throw refused();
      return { id: sealed.i, callId: sealed.c };
    },
    async complete({ id }) {
      await marks.set(id, COMPLETED);
    },
  };

  function read(ticket: string): Sealed | undefined {
    if (typeof ticket !== "string" || !/^[A-Za-z0-9_-]{1,2048}$/.test(ticket)) return undefined;
    const bytes = Buffer.from(ticket, "base64url");
    // One spelling per ticket: the last character has bits that decoding drops.
    if (bytes.toString("base64url") !== ticket) return undefined;
    try {
      return JSON.parse(vault.open(bytes, NO_ROUND, "ticket")) as Sealed;
    } catch {
      return undefined;
    }
  }
}

function isFor(principal: Principal, { subject, issuer }: PageSubject): boolean {
  return principal.subject === subject && (issuer === undefined || principal.issuer === issuer);
}

function refused(): ParleyError {
  return new ParleyError("ticket_refused", "This link cannot be opened: it is not yours, was used, or is too old.");
}

/** Marks that are set once, kept in the ledger: a settled round is a mark. */
class Marks {
  readonly #store: Ledger;
  readonly #newOwner: () => string;
  readonly #keepMs: number;

  constructor(store: Ledger, newOwner: () => string, keepMs: number) {
    this.#store = store;
    this.#newOwner = newOwner;
    this.#keepMs = keepMs;
  }

  /** `false` when it was set before. */
  async set(id: string, mark: number): Promise<boolean> {
    for (;;) {
      const { claim, hold } = await this.#claim(id, mark);
      if (claim.type === "won") return this.#store.settle(hold, { outcome: new Uint8Array(1), keepMs: this.#keepMs });
      if (claim.type !== "running") return false;
      // Somebody is looking at this moment.
      await new Promise((resolve) => setTimeout(resolve, Math.min(claim.leaseLeftMs, 20)));
    }
  }

  async isSet(id: string, mark: number): Promise<boolean> {
    const { claim, hold } = await this.#claim(id, mark);
    if (claim.type === "won") await this.#store.release(hold);
    return claim.type === "settled";
  }

  async #claim(id: string, round: number) {
    const call = digestFor("ticket", id);
    const hold = { call, round, owner: this.#newOwner() };
    const request = { ...hold, answers: "mark", leaseMs: LOOK_MS, keepMs: this.#keepMs, wantJournal: false };
    return { claim: await this.#store.claim(request), hold };
  }
}
