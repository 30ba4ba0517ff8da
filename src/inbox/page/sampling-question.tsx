/** Use of the person's model: the request is read and may be changed and is run; then the answer is (F13; rule S1). */
import { useState } from "preact/hooks";
import type { SamplingView } from "../../present/index.ts";
import { describeSample, describeSampling } from "../../present/sampling-view.ts";
import type { SamplingParams, SamplingResult } from "../../protocol/types.ts";
import type { SamplingStage } from "../api.ts";
import { Notice, TooEarly } from "./controls.tsx";
import type { Decide } from "./decide.ts";
import { useGuard } from "./guard.ts";
import { answerTexts, textsOf, withAnswerTexts, withTexts } from "./sampling-edit.ts";
import { SamplingEditor } from "./sampling-editor.tsx";
import { Framed, Warnings } from "./server-text.tsx";

type Props<S> = { stage: S; id: string; decide: Decide };
type StageOf<K extends SamplingStage["stage"]> = Extract<SamplingStage, { stage: K }>;

export function SamplingQuestion({ stage, id, decide }: Props<SamplingStage>) {
  switch (stage.stage) {
    case "request":
    case "failed":
      return <Request key="request" stage={stage} id={id} decide={decide} />;
    case "running":
      return (
        <>
          <h3>Your model is working</h3>
          <p>Its answer comes here first. Nothing goes to the server before you have read it.</p>
        </>
      );
    case "response":
      return <Response key="response" stage={stage} id={id} decide={decide} />;
  }
}

function Request({ stage, id, decide }: Props<StageOf<"request" | "failed">>) {
  const [changed, setChanged] = useState<SamplingParams>();
  const params = changed ?? stage.params;
  const [editing, setEditing] = useState(false);
  const guard = useGuard(`${id} request ${editing}`);
  if (editing) {
    return (
      <SamplingEditor
        id={id}
        heading="Change what your model is given"
        texts={textsOf(params)}
        maxTokens={params.maxTokens}
        most={stage.params.maxTokens}
        onBack={() => setEditing(false)}
        onDone={(texts, maxTokens) => {
          setChanged(withTexts(params, texts, maxTokens));
          setEditing(false);
        }}
      />
    );
  }
  return (
    <div {...guard.props}>
      {stage.stage === "failed" && (
        <Notice tone="bad">
          Your model gave no answer: <bdi>{stage.reason}</bdi>. Nothing was sent; you can run it again.
        </Notice>
      )}
      <h3>What your model would be given</h3>
      {changed !== undefined && <p class="hint">With your changes. This is what will run.</p>}
      <Parts view={describeSampling(params)} />
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" onClick={() => void decide.decide({ action: "run", params })}>
          Run it with my model
        </button>
        <button type="button" onClick={() => setEditing(true)}>
          Change it first
        </button>
        <Refuse decide={decide} />
      </div>
    </div>
  );
}

function Response({ stage, id, decide }: Props<StageOf<"response">>) {
  const [changed, setChanged] = useState<SamplingResult>();
  const result = changed ?? stage.result;
  const [editing, setEditing] = useState(false);
  const guard = useGuard(`${id} response ${editing}`);
  if (editing) {
    return (
      <SamplingEditor
        id={`${id}-answer`}
        heading="Change the answer"
        texts={answerTexts(result)}
        onBack={() => setEditing(false)}
        onDone={(texts) => {
          setChanged(withAnswerTexts(result, texts));
          setEditing(false);
        }}
      />
    );
  }
  const view = changed === undefined ? stage.view : describeSample(changed);
  return (
    <div {...guard.props}>
      <h3>What your model answered</h3>
      <p class="hint">
        {changed === undefined
          ? "Nothing has been sent to the server yet."
          : "With your changes. This is what will be sent."}
      </p>
      <Parts view={view} />
      <Warnings warnings={view.warnings} />
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        {view.complete ? (
          <button type="button" class="primary" onClick={() => void decide.decide({ action: "send", result })}>
            Send this answer to the server
          </button>
        ) : (
          <p>The answer is too large to be shown whole, so it cannot be sent.</p>
        )}
        {answerTexts(result).length > 0 && (
          <button type="button" onClick={() => setEditing(true)}>
            Change it first
          </button>
        )}
        <Refuse decide={decide} />
      </div>
    </div>
  );
}

/** The protocol has no "no" for this: refusing ends the call (F21). */
function Refuse({ decide }: { decide: Decide }) {
  return (
    <button type="button" onClick={() => void decide.decide({ action: "refuse" })}>
      Refuse: this ends the call
    </button>
  );
}

/** All of a request or an answer, and its limits. */
function Parts({ view }: { view: SamplingView }) {
  return (
    <>
      {view.parts.map(({ label, text }, at) => (
        <Framed key={at} label={label} text={text} />
      ))}
      <ul class="limits">
        {view.limits.map((limit) => (
          <li key={limit}>
            <bdi>{limit}</bdi>
          </li>
        ))}
      </ul>
    </>
  );
}
