/** One question of a call: who asks, what to be careful of, and its controls (rules I1 to I4, F1). */

import { ASKS, STARTED_OVER } from "../../present/words.ts";
import type { CallView, QuestionItem } from "../api.ts";
import { Notice, TooEarly } from "./controls.tsx";
import { type Decide, type DecideProps, decisionText, useDecide } from "./decide.ts";
import { Answers, Form } from "./form.tsx";
import { useGuard } from "./guard.ts";
import { RootsQuestion } from "./roots-question.tsx";
import { SamplingQuestion } from "./sampling-question.tsx";
import { Framed, Quoted, Warnings } from "./server-text.tsx";
import { useNow } from "./time.ts";
import { Address, UrlQuestion } from "./url-question.tsx";
import { WaysOut } from "./ways-out.tsx";

export interface CardProps extends Pick<DecideProps, "onCall" | "onStale"> {
  readonly call: CallView;
  readonly question: QuestionItem;
  readonly number: number;
  readonly of: number;
}

export function QuestionCard({ call, question, number, of, onCall, onStale }: CardProps) {
  const decide = useDecide({ call: call.id, question: question.id, onCall, onStale });
  const { view } = question;
  const id = `question-${number}`;
  return (
    <article
      class={question.decision === undefined ? "card question" : "card question done"}
      aria-labelledby={`${id}-heading`}
    >
      <header>
        <h2 id={`${id}-heading`} tabIndex={-1}>
          {of > 1 && <span class="count">{`Question ${number} of ${of} `}</span>}
          Server <Quoted text={view.server.id} /> {ASKS[view.kind]}
        </h2>
        {view.server.claimed !== undefined && (
          <p class="claimed">
            It calls itself <Quoted text={view.server.claimed} />, in its own words.
          </p>
        )}
      </header>
      {view.startedOver === true && question.decision === undefined && <Notice tone="info">{STARTED_OVER}</Notice>}
      <Warnings warnings={view.warnings} />
      {decide.problem !== undefined && <Notice tone="bad">{decide.problem.message}</Notice>}
      {question.decision === undefined ? (
        <Open id={id} question={question} decide={decide} others={call.open - 1} />
      ) : (
        <Decided question={question} />
      )}
    </article>
  );
}

type QuestionProps = { id: string; question: QuestionItem; decide: Decide };

/** @param others open questions of the same round: answers go out together. */
function Open({ id, question, decide, others }: QuestionProps & { others: number }) {
  const { view } = question;
  if (view.refused.length > 0) return <Refused id={id} question={question} decide={decide} />;
  switch (view.kind) {
    case "form":
      return (
        <Form
          id={id}
          fields={view.fields}
          confirmation={view.confirmation}
          frameLabel="The server says"
          lead={
            <p class="message">
              <bdi>{view.message.text}</bdi>
            </p>
          }
          words={{
            review: view.fields.length === 0 ? "Agree" : "Review my answer",
            heading:
              others > 0
                ? "This will be sent to the server, once its other questions are decided too"
                : "This will be sent to the server",
            nothing: "You agree to what the server says. There is nothing to fill in.",
            send: view.fields.length === 0 ? "Send my agreement" : "Send this answer",
          }}
          onSend={async (content) => {
            const problem = await decide.decide({ action: "accept", content });
            return problem?.code === "invalid_content" ? problem.fields : undefined;
          }}
        >
          <WaysOut decide={decide} />
        </Form>
      );
    case "url":
      return <UrlQuestion view={view} id={id} decide={decide} />;
    case "sample":
      return question.sampling === undefined ? null : (
        <SamplingQuestion stage={question.sampling} id={id} decide={decide} />
      );
    case "roots":
      return <RootsQuestion roots={question.roots} id={id} decide={decide} />;
  }
}

/** A question that must not be answered (F1, L1): its words are shown, its controls are not. */
function Refused({ id, question: { view }, decide }: QuestionProps) {
  const guard = useGuard(`${id} refused`);
  const speaks = view.kind === "form" || view.kind === "url";
  return (
    <div {...guard.props}>
      <Notice tone="bad">
        <strong>This question is not put to you.</strong>
        <ul>
          {view.refused.map((reason) => (
            <li key={reason}>
              <bdi>{reason}</bdi>
            </li>
          ))}
        </ul>
      </Notice>
      {speaks && <Framed label="The server says" text={view.message} />}
      {view.kind === "url" && !view.url.ok && (
        <Framed label="The address, as the server wrote it" text={view.url.shown} />
      )}
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        {speaks ? (
          <WaysOut decide={decide} />
        ) : (
          <button type="button" onClick={() => void decide.decide({ action: "refuse" })}>
            Refuse: this ends the call
          </button>
        )}
      </div>
    </div>
  );
}

function Decided({ question: { view, decision, answer } }: { question: QuestionItem }) {
  const now = useNow();
  if (decision === undefined) return null;
  return (
    <>
      {(view.kind === "form" || view.kind === "url") && <Framed label="The server said" text={view.message} />}
      {view.kind === "url" && view.url.ok && <Address url={view.url} />}
      <p class="decision">{decisionText(decision, now)}</p>
      {answer !== undefined && <Answers answers={answer} />}
    </>
  );
}
