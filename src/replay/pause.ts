import type { Entry, Pending } from "../journal/entry.ts";
import { mergeCapabilities } from "../protocol/capabilities.ts";
import type { ClientCapabilities, InputRequest, InputRequests } from "../protocol/types.ts";
import { withComplaint } from "./complaint.ts";
import { tooManyQuestions } from "./divergence.ts";
import type { RunOutcome } from "./types.ts";

/** A question that is open at the end of a round. */
export interface Asked {
  readonly request: InputRequest;
  readonly pending: Pending;
  /** Why the last answer did not count. */
  readonly complaint: string | undefined;
}

/** What a round that cannot go on ends as: all open questions together, or the reason why they cannot be put. */
export function pauseWith(
  open: ReadonlyMap<string, Asked>,
  waits: readonly Pending[],
  missing: readonly ClientCapabilities[],
  journal: Entry[],
  limit: number,
): RunOutcome<never> {
  if (missing.length > 0) return { kind: "missing_capability", required: mergeCapabilities(missing) };
  if (open.size > limit) return { kind: "failed", error: tooManyQuestions(open.size, limit) };
  const requests: InputRequests = {};
  for (const [key, { request, complaint }] of open) requests[key] = withComplaint(request, complaint);
  const pending = [...[...open.values()].map((asked) => asked.pending), ...waits];
  return { kind: "asking", requests, journal, pending };
}
