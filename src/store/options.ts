import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface StoreOptions {
  /** How long one operation may take, in ms; a later answer counts as a failure. Default 5,000. */
  readonly timeoutMs?: number;
}

/** @throws ParleyError `configuration` */
export function resolveTimeout(store: string, timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return 5_000;
  if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= LONGEST_TIMER_MS) return timeoutMs;
  throw new ParleyError("configuration", `${store}: option timeoutMs must be a whole number of ms, 1 or more.`);
}

/** What a store in a server or a file can be made from. */
export interface SourceRule {
  /** The member that says where to open one, such as `path`. */
  readonly where: string;
  /** A method that tells a client, such as `prepare`, and what the client is. */
  readonly method: string;
  readonly client: string;
}

/**
 * Whether `source` says where to open a client; otherwise it is one.
 * @throws ParleyError `configuration` for what is neither
 */
export function isPlace<Place extends object>(store: string, source: unknown, rule: SourceRule): source is Place {
  const { where, method, client } = rule;
  const given = Object(source) as Record<string, unknown>;
  if (typeof given[method] === "function") return false;
  if (isObject(source) && typeof source[where] === "string" && source[where] !== "") return true;
  throw new ParleyError("configuration", `${store}: the first argument must be { ${where}: "..." } or ${client}.`, {
    details: { option: where },
  });
}
