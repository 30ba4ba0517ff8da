/** What happened in a call, and who decided: a policy's decision is never shown as a person's. */
import { STARTED_OVER } from "../../present/words.ts";
import type { HistoryItem } from "../api.ts";
import { verbOf } from "./decide.ts";
import { Quoted } from "./server-text.tsx";
import { clock, plural, useNow } from "./time.ts";

export function History({ items }: { items: readonly HistoryItem[] }) {
  const now = useNow();
  if (items.length === 0) return null;
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">What happened so far</h2>
      <ol class="history">
        {items.map((item, at) => (
          <li key={at}>
            <time dateTime={new Date(item.at).toISOString()}>{clock(item.at, now)}</time>
            <span>{`Round ${item.round}`}</span>
            <p>
              <What item={item} />
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function What({ item }: { item: HistoryItem }) {
  switch (item.type) {
    case "started":
      return <>{item.by === "person" ? "Started from this inbox." : "Started by the host."}</>;
    case "asked":
      return (
        <>
          {`The server asked ${plural(item.questions.length, "question")}: `}
          {item.questions.map((question, at) => (
            <span key={at}>
              {at > 0 && ", "}
              <Quoted text={question} />
            </span>
          ))}
        </>
      );
    case "decided":
      return (
        <>
          <Quoted text={item.question} />: {verbOf(item.action).toLowerCase()}{" "}
          {item.by.type === "person" ? (
            "by a person."
          ) : (
            <>
              by the policy rule <Quoted text={item.by.rule} />, not by a person.
            </>
          )}
        </>
      );
    case "sent":
      return <>The answers were sent to the server.</>;
    case "started_over":
      return <>{STARTED_OVER}</>;
    case "waiting_on_server":
      return <>The server waits for something that happens elsewhere.</>;
    case "unreachable":
      return <>The server could not be reached, or did not answer.</>;
    case "resumed":
      return <>The inbox was restarted and took the call up again.</>;
    case "task":
      return <>The server goes on with it as a task.</>;
    case "ending":
      return (
        <>
          <bdi>{item.reason}</bdi> Its task is to be cancelled at the server.
        </>
      );
    case "ended":
      return (
        <>
          {ENDINGS[item.state]}
          {item.reason !== undefined && (
            <>
              {" "}
              <bdi>{item.reason}</bdi>
            </>
          )}
        </>
      );
  }
}

const ENDINGS: Record<Extract<HistoryItem, { type: "ended" }>["state"], string> = {
  complete: "The call is complete.",
  failed: "The call failed.",
  stopped: "The call was stopped.",
  expired: "Nobody answered in time. Nothing was sent in your name.",
  sending: "The answers are on their way.",
  waiting: "The call waits.",
};
