/** Where a call stands, in words and, for those who see it, in colour. */
import type { CallItem, TaskItem } from "../api.ts";
import { Quoted } from "./server-text.tsx";
import { clock, inWords, plural, useNow } from "./time.ts";

const STATES: Record<CallItem["state"], string> = {
  sending: "Working",
  waiting: "Waiting for you",
  complete: "Complete",
  failed: "Failed",
  stopped: "Stopped",
  expired: "Expired",
};

type BadgeProps = { call: CallItem; waitingOnServer?: boolean; unreachable?: boolean };

export function StateBadge({ call, waitingOnServer = false, unreachable = false }: BadgeProps) {
  const { state, isError } = call;
  return (
    <span class={`badge ${isError === true ? "failed" : state}`}>{badgeText(call, waitingOnServer, unreachable)}</span>
  );
}

function badgeText(call: CallItem, waitingOnServer: boolean, unreachable: boolean): string {
  if (unreachable && call.ending !== true) return "Server out of reach";
  return waitingOnServer ? "Waiting for the server" : stateText(call);
}

function stateText({ state, task, ending, isError }: CallItem): string {
  if (state === "sending" && ending === true) return "Stopping";
  if (state === "sending" && task !== undefined) return "Task at the server";
  return isError === true ? "Complete, with an error" : STATES[state];
}

/** The extension's own words; any other is the server's, and quoted. */
const STATUSES = new Set<string>(["working", "input_required", "completed", "failed", "cancelled"]);

/** How its task stands, in the words of the extension, since when, and how long it lives. What the server says is quoted. */
export function TaskFacts({ task }: { task: TaskItem }) {
  const now = useNow();
  return (
    <span class="facts">
      {"Task: "}
      {STATUSES.has(task.status) ? task.status : <Quoted text={task.status} />}
      {` · since ${clock(task.since, now)}`}
      {task.endsAt !== undefined && ` · lives until ${clock(task.endsAt, now)}`}
    </span>
  );
}

/** What "Stop" is going to do. */
export function stopText({ task, ending }: CallItem): string {
  if (ending === true) return "End this call here now? The server may not hear of it, and the task may go on there.";
  if (task !== undefined) return "Stop this call? The server is told to cancel its task; neither yes nor no is sent.";
  return "Stop this call? Nothing is sent to the server, neither yes nor no.";
}

/** "Call to “deploy” of desk". A URI is left out: it must not look like a link to where it leads (F5). */
export function CallTitle({ call }: { call: CallItem }) {
  return (
    <>
      {"Call to "}
      {call.method !== "resources/read" && (
        <>
          <Quoted text={call.target} />
          {" of "}
        </>
      )}
      <bdi>{call.serverName}</bdi>
    </>
  );
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
