/** Where a call stands, in words and, for those who see it, in colour. */
import type { CallItem } from "../api.ts";
import { clock, inWords, plural, useNow } from "./time.ts";

const STATES: Record<CallItem["state"], string> = {
  sending: "Working",
  waiting: "Waiting for you",
  complete: "Complete",
  failed: "Failed",
  stopped: "Stopped",
  expired: "Expired",
};

export function StateBadge({
  state,
  waitingOnServer = false,
}: {
  state: CallItem["state"];
  waitingOnServer?: boolean;
}) {
  return <span class={`badge ${state}`}>{waitingOnServer ? "Waiting for the server" : STATES[state]}</span>;
}

/** How long is left, and until when; nothing for a call that never expires. */
export function Deadline({ call }: { call: CallItem }) {
  const now = useNow();
  if (call.answerBy === undefined || call.state !== "waiting") return null;
  const left = call.answerBy - now;
  const until = <time dateTime={new Date(call.answerBy).toISOString()}>{clock(call.answerBy, now)}</time>;
  if (left <= 0) return <span class="deadline soon">The time to answer is over ({until})</span>;
  return (
    <span class={left < SOON_MS ? "deadline soon" : "deadline"}>
      {inWords(left)} left to answer, until {until}
    </span>
  );
}

const SOON_MS = 5 * 60_000;

/** "2 questions, round 3, started 5 minutes ago". */
export function Facts({ call }: { call: CallItem }) {
  const now = useNow();
  const asked = call.state === "waiting" && call.open > 0 ? `${plural(call.open, "open question")} · ` : "";
  return <span class="facts">{`${asked}round ${call.round} · started ${clock(call.startedAt, now)}`}</span>;
}

export function isOpen(call: CallItem): boolean {
  return call.state === "sending" || call.state === "waiting";
}
