/** What every store refuses before it asks its server: malformed keys and durations. */
import { ParleyError } from "../errors.ts";
import type { ClaimRequest, Hold } from "./contract.ts";

const TEXT_BYTES = 512;
const LARGEST_ROUND = 2 ** 31 - 1;
/** Ten years. Larger is a unit mistake, and would overflow a store's own arithmetic. */
const LONGEST_MS = 315_360_000_000;

/** @throws ParleyError `configuration` */
export function checkHold({ call, round, owner }: Hold): void {
  text("call", call);
  text("owner", owner);
  if (!whole(round, 0, LARGEST_ROUND)) throw wrong("round", "must be a whole number, 0 or more");
}

/** @throws ParleyError `configuration` */
export function checkClaim(request: ClaimRequest): void {
  checkHold(request);
  text("answers", request.answers);
  checkMs("leaseMs", request.leaseMs);
  checkMs("keepMs", request.keepMs);
}

/** @throws ParleyError `configuration` */
export function checkMs(name: string, value: number): void {
  if (!whole(value, 1, LONGEST_MS)) throw wrong(name, "must be a whole number of ms from 1 to ten years");
}

/** @throws ParleyError `configuration` */
export function checkBytes(name: string, value: unknown): void {
  if (!(value instanceof Uint8Array)) throw wrong(name, "must be bytes");
}

/** Text that every store keeps as it is: PostgreSQL has no NUL, and lone surrogates are not UTF-8. */
function text(name: string, value: string): void {
  const bytes = typeof value === "string" ? Buffer.byteLength(value) : 0;
  if (bytes === 0 || bytes > TEXT_BYTES) throw wrong(name, `must be text of 1 to ${TEXT_BYTES} bytes`);
  // As many bytes as characters: ASCII.
  if (value.includes("\0") || (bytes !== value.length && /\p{Surrogate}/u.test(value)))
    throw wrong(name, "must be well-formed text without NUL");
}

function whole(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

function wrong(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `ledger: ${name} ${rule}.`, { details: { name } });
}
