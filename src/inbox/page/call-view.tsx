/** One call: what runs, the questions of this round together, and what happened so far. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ASKS } from "../../present/words.ts";
import type { CallView, InboxView, QuestionItem, TaskItem } from "../api.ts";
import { CallTitle, Deadline, Facts, isOpen, StateBadge, stopText, TaskFacts } from "./call-state.tsx";
import { type PageProblem, path } from "./client.ts";
import { usePage, useResource } from "./context.ts";
import { AskTwice, FocusHeading, Notice } from "./controls.tsx";
import { decisionText } from "./decide.ts";
import { Drawn } from "./guard.ts";
import { History } from "./history.tsx";
import { QuestionCard } from "./question-card.tsx";
import { go, hrefOf } from "./route.ts";
import { Framed, Quoted, Warnings } from "./server-text.tsx";
import { useNow } from "./time.ts";
import { WaitingOnServer } from "./waiting.tsx";

export function CallScreen({ id }: { id: string }) {
  const call = useResource<CallView>(path`/api/calls/${id}`);
  useEffect(() => {
    document.title = "A call · Parley inbox";
  }, []);
  if (call.value !== undefined) return <Loaded call={call.value} onCall={call.set} onRefresh={call.refresh} />;
  if (call.problem === undefined) return <p>Loading…</p>;
  return (
    <>
      <FocusHeading level={1}>This call cannot be shown</FocusHeading>
      <Notice tone="bad">{call.problem.message}</Notice>
      <p>
        <a href={hrefOf({ view: "inbox" })}>Back to the inbox</a>
      </p>
    </>
  );
}

type LoadedProps = { call: CallView; onCall: (call: CallView) => void; onRefresh: () => void };

function Loaded({ call, onCall, onRefresh }: LoadedProps) {
  const [stale, setStale] = useState<PageProblem>();
  const news = newsOf(call);
  const place = useNews(call, news);
  const stillOpen = openOf(call).length;
  return (
    <div ref={place}>
      <p class="back">
        <a href={hrefOf({ view: "inbox" })}>Inbox</a>
      </p>
      <FocusHeading level={1}>
        <CallTitle call={call} />
      </FocusHeading>
      <section class="card" aria-label="What will run">
        <p class="target">
          Runs {call.method} <Quoted text={call.target} />
          {call.arguments === undefined && " without arguments"}
        </p>
        {call.arguments !== undefined && <Framed own label="With these arguments" text={call.arguments} />}
        <p class="meta">
          <StateBadge
            call={call}
            waitingOnServer={call.waitingOnServer === true}
            unreachable={call.unreachable !== undefined}
          />{" "}
          <Facts call={call} /> <Deadline call={call} />
        </p>
      </section>
      {call.task !== undefined && isOpen(call) && <Task call={call} task={call.task} />}
      {stale !== undefined && <Stale problem={stale} />}
      {call.problem !== undefined && (
        <Notice tone="bad">
          <bdi>{call.problem}</bdi>
        </Notice>
      )}
      {call.result !== undefined && (
        <section class="card" aria-label="Result">
          <h2>{call.result.isError ? "The server reports an error" : "Result"}</h2>
          <Framed label="The server answered" text={call.result.text} />
        </section>
      )}
      {call.state === "sending" && (call.waitingOnServer === true || call.unreachable !== undefined) && (
        <WaitingOnServer call={call} onCall={onCall} />
      )}
      {isOpen(call) && stillOpen > 0 && call.questions.length > stillOpen && (
        <p class="hint">
          Answers are kept here and go to the server together, once every question of this round is decided.
        </p>
      )}
      <Drawn.Provider value={news}>
        {call.questions.map((question, at) => (
          <QuestionCard
            key={question.id}
            call={call}
            question={question}
            number={at + 1}
            of={call.questions.length}
            onCall={(next) => {
              setStale(undefined);
              onCall(next);
            }}
            onStale={(problem) => {
              setStale(problem);
              onRefresh();
            }}
          />
        ))}
        {isOpen(call) && <Ways call={call} onCall={onCall} />}
      </Drawn.Provider>
      <History items={call.history} />
    </div>
  );
}

/** The server goes on by itself: how it stands, and what it says of it. */
function Task({ call, task }: { call: CallView; task: TaskItem }) {
  return (
    <section class="card" aria-label="The task">
      <h2>The server goes on with this as a task</h2>
      <p class="meta">
        <TaskFacts task={task} />
      </p>
      {task.message !== undefined && (
        <>
          <Framed label="The server says" text={task.message} />
          <Warnings warnings={task.message.warnings} />
        </>
      )}
      <p class="hint">{taskHint(call)}</p>
    </section>
  );
}

function taskHint({ state, ending }: CallView): string {
  if (ending === true)
    return "The server is being told to cancel it. Stop the call again to end it here without waiting for that.";
  if (state === "waiting") return "It goes on there once it has your answer.";
  return "It runs there whether this inbox is open or not. When it asks something, the question appears here.";
}

/** Somebody else decided first, or it is too late: said, and never overwritten (D3). */
function Stale({ problem }: { problem: PageProblem }) {
  const now = useNow();
  return (
    <Notice tone="bad">
      {problem.code === "already_decided" && problem.decision !== undefined ? (
        <>
          <strong>Already decided elsewhere.</strong> {decisionText(problem.decision, now)} What you entered here was
          not sent.
        </>
      ) : (
        problem.message
      )}
    </Notice>
  );
}

/** Ways out of the whole call, apart from the answers to its questions. */
function Ways({ call, onCall }: { call: CallView; onCall: (call: CallView) => void }) {
  const { api } = usePage();
  const [problem, setProblem] = useState<string>();
  const stop = async () => {
    const reply = await api.post<CallView>(path`/api/calls/${call.id}/stop`);
    if (reply.ok) onCall(reply.value);
    else setProblem(reply.problem.message);
  };
  const mute = async () => {
    const reply = await api.post<InboxView>(path`/api/servers/${call.server}/mute`, { muted: true });
    if (reply.ok) go({ view: "inbox" });
    else setProblem(reply.problem.message);
  };
  return (
    <section class="ways" aria-label="Ending the whole call">
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      <AskTwice label="Stop the call" question={stopText(call)} yes="Yes, stop the call" onYes={() => void stop()} />
      <AskTwice
        label="Nothing more from this server"
        question={`Stop all calls to “${call.serverName}” and show none of its questions? Their tasks are cancelled; no answer is sent.`}
        yes="Yes, nothing more from it"
        onYes={() => void mute()}
      />
    </section>
  );
}

function openOf(call: CallView): readonly QuestionItem[] {
  return call.questions.filter(({ decision }) => decision === undefined);
}

/** Differs when something else is asked than before. */
function newsOf(call: CallView): string {
  return [
    call.state,
    call.task !== undefined,
    call.ending,
    call.unreachable !== undefined,
    ...openOf(call).map(({ id, sampling }) => `${id} ${sampling?.stage}`),
  ].join(" ");
}

/** Says what is new, and keeps the keyboard's place when what had the focus is gone. */
function useNews(call: CallView, news: string) {
  const { announce } = usePage();
  const place = useRef<HTMLDivElement>(null);
  const known = useRef<string | undefined>(undefined);
  useEffect(() => {
    const first = known.current === undefined;
    known.current = news;
    if (first) return;
    const open = openOf(call);
    announce(newsText(call, open));
    // Nothing has the focus, or only the heading that got it when the last control went away.
    const at = document.activeElement;
    if (at !== null && at !== document.body && at.localName !== "h1") return;
    const target = open.length > 0 ? `#question-${call.questions.indexOf(open[0] as QuestionItem) + 1}-heading` : "h1";
    place.current?.querySelector<HTMLElement>(target)?.focus();
  }, [news]);
  return place;
}

function newsText(call: CallView, open: readonly QuestionItem[]): string {
  if (open.some(({ sampling }) => sampling?.stage === "response"))
    return "Your model has answered. Read it before it is sent.";
  const [first] = open;
  if (first !== undefined) return `Server “${first.view.server.id}” ${ASKS[first.view.kind]}.`;
  if (call.unreachable !== undefined) return "The server cannot be reached.";
  if (call.waitingOnServer === true) return "The server is waiting for something that happens elsewhere.";
  if (call.ending === true) return "The server is being told to cancel the task.";
  if (call.task !== undefined && call.state === "sending") return "The server goes on with it as a task.";
  return `${call.serverName}: ${call.state === "sending" ? "the answers are on their way" : `the call is ${call.state}`}.`;
}
