/** The inbox: what waits for an answer first, then what is under way, then what ended. */
import { useEffect, useState } from "preact/hooks";
import type { CallItem, InboxView, ServerItem } from "../api.ts";
import { CallTitle, Deadline, Facts, isOpen, StateBadge, TaskFacts } from "./call-state.tsx";
import { path } from "./client.ts";
import { usePage, useResource } from "./context.ts";
import { AskTwice, FocusHeading, Notice } from "./controls.tsx";
import { hrefOf } from "./route.ts";
import { Quoted } from "./server-text.tsx";
import { plural } from "./time.ts";

export function ListView() {
  const { announce } = usePage();
  const inbox = useResource<InboxView>("/api/inbox");
  const waiting = inbox.value?.waiting;
  useEffect(() => {
    document.title = waiting === undefined || waiting === 0 ? "Parley inbox" : `(${waiting}) Parley inbox`;
    if (waiting !== undefined)
      announce(waiting === 0 ? "Nothing waits for you." : `${plural(waiting, "call")} waiting for you.`);
  }, [waiting, announce]);
  return (
    <>
      <FocusHeading level={1}>Inbox</FocusHeading>
      {inbox.problem !== undefined && inbox.value === undefined && <Notice tone="bad">{inbox.problem.message}</Notice>}
      {inbox.value === undefined ? <p>Loading…</p> : <Loaded inbox={inbox.value} onInbox={inbox.set} />}
    </>
  );
}

function Loaded({ inbox, onInbox }: { inbox: InboxView; onInbox: (inbox: InboxView) => void }) {
  const more = useMore(inbox);
  const calls = [...inbox.calls, ...more.calls];
  return (
    <>
      {inbox.total === 0 && <Empty servers={inbox.servers} />}
      <Section title="Waiting for you" calls={calls.filter((call) => call.state === "waiting")} />
      <Section title="Under way" calls={calls.filter((call) => call.state === "sending")} />
      <Section title="Ended" calls={calls.filter((call) => !isOpen(call))} />
      {more.next !== undefined && (
        <button type="button" onClick={more.load}>
          Show older calls
        </button>
      )}
      <Servers servers={inbox.servers} onInbox={onInbox} />
    </>
  );
}

/** The pages after the first, as far as they were asked for; forgotten when the first page changes. */
function useMore(inbox: InboxView) {
  const { api } = usePage();
  const [pages, setPages] = useState<{ of: InboxView; calls: readonly CallItem[]; next?: string }>();
  const loaded = pages?.of === inbox ? pages : undefined;
  const next = loaded === undefined ? inbox.next : loaded.next;
  return {
    calls: loaded?.calls ?? [],
    next,
    load: async () => {
      if (next === undefined) return;
      const reply = await api.get<InboxView>(path`/api/inbox?after=${next}`);
      if (!reply.ok) return;
      const { calls, next: after } = reply.value;
      setPages({
        of: inbox,
        calls: [...(loaded?.calls ?? []), ...calls],
        ...(after === undefined ? {} : { next: after }),
      });
    },
  };
}

function Empty({ servers }: { servers: readonly ServerItem[] }) {
  return (
    <div class="card empty">
      <h2>Nothing waits for you</h2>
      <p>
        When a server asks something in the middle of a call, the question appears here, with who asks, what will run,
        and everything that is sent if you say yes.
      </p>
      {servers.length > 0 && (
        <p>
          <a class="button" href={hrefOf({ view: "start" })}>
            Start a call
          </a>
        </p>
      )}
    </div>
  );
}

function Section({ title, calls }: { title: string; calls: readonly CallItem[] }) {
  if (calls.length === 0) return null;
  const id = title.replaceAll(" ", "-").toLowerCase();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title} <span class="number-of">{calls.length}</span>
      </h2>
      <ul class="calls">
        {calls.map((call) => (
          <li key={call.id} class="card call-row">
            <h3>
              <a href={hrefOf({ view: "call", id: call.id })}>
                <CallTitle call={call} />
              </a>
            </h3>
            <p class="target">
              {call.method} <Quoted text={call.target} />
            </p>
            <p class="meta">
              <StateBadge call={call} waitingOnServer={call.state === "waiting" && call.open === 0} />{" "}
              <Facts call={call} /> <Deadline call={call} />
            </p>
            {call.task !== undefined && (
              <p class="meta">
                <TaskFacts task={call.task} />
                {call.task.message !== undefined && (
                  <>
                    {" · "}
                    <Quoted text={call.task.message.text} />
                  </>
                )}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Servers({ servers, onInbox }: { servers: readonly ServerItem[]; onInbox: (inbox: InboxView) => void }) {
  const { api } = usePage();
  const [problem, setProblem] = useState<string>();
  const mute = async (server: string, muted: boolean) => {
    const reply = await api.post<InboxView>(path`/api/servers/${server}/mute`, { muted });
    setProblem(reply.ok ? undefined : reply.problem.message);
    if (reply.ok) onInbox(reply.value);
  };
  if (servers.length === 0) return null;
  return (
    <section aria-labelledby="servers">
      <h2 id="servers">Servers</h2>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      <ul class="card servers">
        {servers.map((server) => (
          <li key={server.id}>
            <p>
              <strong>
                <bdi>{server.name}</bdi>
              </strong>{" "}
              <span class={`badge ${server.status}`}>{STATUS[server.status]}</span>{" "}
              {server.muted && <span class="badge muted">Muted</span>}
            </p>
            {server.problem !== undefined && (
              <p class="problem">
                <bdi>{server.problem}</bdi>
              </p>
            )}
            {server.muted ? (
              <button type="button" onClick={() => void mute(server.id, false)}>
                Hear from <bdi>{server.name}</bdi> again
              </button>
            ) : (
              <AskTwice
                label="Nothing more from this server"
                question={`Stop all calls to “${server.name}” and show none of its questions? Their tasks are cancelled; no answer is sent.`}
                yes="Yes, nothing more from it"
                onYes={() => void mute(server.id, true)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const STATUS: Record<ServerItem["status"], string> = {
  connecting: "Not connected yet",
  ready: "Connected",
  unreachable: "Cannot be reached",
};
