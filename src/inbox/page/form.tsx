/** Fields, then a review of what was entered, and only then the deed (D19, F7). Enter in a field leads to the review. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { describeAnswer } from "../../present/field-view.ts";
import type { FieldView, Safe } from "../../present/index.ts";
import type { FormContent } from "../../protocol/types.ts";
import { FocusHeading, TooEarly } from "./controls.tsx";
import { FieldRow } from "./field.tsx";
import { type FormState, type Problems, useForm } from "./form-state.ts";
import { useGuard } from "./guard.ts";

export interface FormProps {
  /** Names this form among the page's; never made of the server's names. */
  readonly id: string;
  readonly fields: readonly FieldView[];
  readonly confirmation: boolean;
  /** Above the fields, in the same frame. */
  readonly lead?: ComponentChildren;
  readonly frameLabel: string;
  readonly words: {
    /** On the button that leads to the review. */
    readonly review: string;
    readonly heading: string;
    readonly nothing: string;
    readonly send: string;
  };
  readonly onSend: (content: FormContent) => Promise<Problems | undefined>;
  /** Beside the review button: the ways out. */
  readonly children?: ComponentChildren;
}

export function Form(props: FormProps) {
  const form = useForm(props.fields);
  const [content, setContent] = useState<FormContent>();
  /** Counts failed checks, so that each one takes the focus to what is wrong. */
  const [failures, setFailures] = useState(0);
  const review = () => {
    const checked = form.check();
    setContent(checked);
    if (checked === undefined) setFailures(failures + 1);
  };
  const send = async (checked: FormContent) => {
    const problems = await props.onSend(checked);
    if (problems === undefined) return;
    form.refuse(problems);
    setContent(undefined);
    setFailures(failures + 1);
  };
  if (content !== undefined) {
    return <Review {...props} content={content} onBack={() => setContent(undefined)} onSend={() => send(content)} />;
  }
  return <Fill {...props} form={form} failures={failures} onReview={review} />;
}

interface FillProps extends FormProps {
  readonly form: FormState;
  readonly failures: number;
  readonly onReview: () => void;
}

function Fill({ id, fields, confirmation, lead, frameLabel, words, children, form, failures, onReview }: FillProps) {
  const guard = useGuard(`${id} fill`);
  return (
    <form
      noValidate
      autocomplete="off"
      {...guard.props}
      onSubmit={(event) => {
        event.preventDefault();
        onReview();
      }}
    >
      <fieldset class="frame" aria-label={frameLabel}>
        <p class="caption">{frameLabel}</p>
        <div class="frame-text">
          {lead}
          {fields.map((view, at) => (
            <FieldRow
              key={view.field.name}
              view={view}
              id={`${id}-${at}`}
              number={at + 1}
              of={fields.length}
              confirmation={confirmation}
              entry={form.entries.get(view.field.name)}
              problem={form.problems.get(view.field.name)}
              onChange={(entry) => form.change(view.field, entry)}
              onLeave={() => form.leave(view.field)}
            />
          ))}
        </div>
      </fieldset>
      {failures > 0 && <Summary key={failures} id={id} fields={fields} problems={form.problems} />}
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="submit" class="primary">
          {words.review}
        </button>
        {children}
      </div>
    </form>
  );
}

/** What is wrong, all of it, with a way to each field. Buttons, not links: the address belongs to the page. */
function Summary({ id, fields, problems }: { id: string; fields: readonly FieldView[]; problems: Problems }) {
  const heading = useRef<HTMLParagraphElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const wrong = fields.flatMap((view, at) => {
    const problem = problems.get(view.field.name);
    return problem === undefined ? [] : [{ at, view, problem }];
  });
  const whole = problems.get("");
  if (wrong.length === 0 && whole === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <p ref={heading} tabIndex={-1}>
        <strong>Nothing was sent.</strong> {wrong.length === 1 ? "One field needs" : `${wrong.length} fields need`}{" "}
        another look:
      </p>
      <ul class="summary">
        {whole !== undefined && <li>{whole}</li>}
        {wrong.map(({ at, view, problem }) => (
          <li key={view.field.name}>
            <button type="button" class="inline" onClick={() => document.getElementById(`${id}-${at}`)?.focus()}>
              <bdi>{view.label}</bdi>
            </button>{" "}
            {problem}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ReviewProps extends Omit<FormProps, "onSend"> {
  readonly content: FormContent;
  readonly onBack: () => void;
  readonly onSend: () => Promise<void>;
}

function Review({ id, fields, lead, frameLabel, words, content, onBack, onSend }: ReviewProps) {
  const guard = useGuard(`${id} review`);
  const [busy, setBusy] = useState(false);
  const press = async () => {
    if (busy) return;
    setBusy(true);
    await onSend();
    setBusy(false);
  };
  const values = new Map<string, unknown>(Object.entries(content));
  return (
    <section class="review" aria-labelledby={`${id}-review`} {...guard.props}>
      <FocusHeading level={3} id={`${id}-review`}>
        {words.heading}
      </FocusHeading>
      {lead !== undefined && (
        <div class="frame">
          <p class="caption">{frameLabel}</p>
          <div class="frame-text">{lead}</div>
        </div>
      )}
      {fields.length === 0 && <p>{words.nothing}</p>}
      <Answers
        answers={fields.map((view) => ({
          label: view.label,
          value: describeAnswer(view, values.get(view.field.name)),
        }))}
      />
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" aria-disabled={busy} onClick={() => void press()}>
          {words.send}
        </button>
        <button type="button" onClick={onBack}>
          Change something
        </button>
      </div>
    </section>
  );
}

/** Answers as they are sent. */
export function Answers({ answers }: { answers: readonly { readonly label: Safe; readonly value: Safe }[] }) {
  if (answers.length === 0) return null;
  return (
    <dl class="answers">
      {answers.map(({ label, value }, at) => (
        <div key={at}>
          <dt>
            <bdi>{label}</bdi>
          </dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}
