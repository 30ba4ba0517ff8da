import { useRef, useState } from "preact/hooks";
import { visible } from "../../present/text.ts";
import { FocusHeading } from "./controls.tsx";
import { isPlain } from "./form-state.ts";
import { useLatest } from "./latest.ts";
import type { EditableText } from "./sampling-edit.ts";
import { Framed } from "./server-text.tsx";

export interface EditorProps {
  readonly id: string;
  readonly heading: string;
  readonly texts: readonly EditableText[];
  /** The limit that stands there; the person may lower it (F15). Absent: there is none to change. */
  readonly maxTokens?: number;
  /** The most the server asked for. */
  readonly most?: number;
  readonly onDone: (texts: readonly string[], maxTokens: number) => void;
  readonly onBack: () => void;
}

/** Texts to change. What is written here is read once more before anything happens with it. */
export function SamplingEditor({ id, heading, texts, maxTokens, most = 0, onDone, onBack }: EditorProps) {
  const [drafts, latestDrafts, setDrafts] = useLatest<readonly string[]>(() => texts.map(({ text }) => text));
  const [limit, latestLimit, setLimit] = useLatest(() => String(maxTokens ?? ""));
  const [problem, setProblem] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  const done = () => {
    const written = latestLimit();
    const good = maxTokens === undefined || (/^[1-9]\d*$/.test(written.trim()) && Number(written) <= most);
    setProblem(!good);
    if (good) onDone(latestDrafts(), Number(written));
    else box.current?.focus();
  };
  return (
    <form
      noValidate
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        done();
      }}
    >
      <FocusHeading level={3}>{heading}</FocusHeading>
      {texts.map(({ label, text }, at) => (
        <Text
          key={at}
          id={`${id}-text-${at}`}
          label={label}
          original={text}
          draft={drafts[at] ?? ""}
          onChange={(draft) => setDrafts(latestDrafts().map((each, other) => (other === at ? draft : each)))}
        />
      ))}
      {maxTokens !== undefined && (
        <div class="field">
          <label for={`${id}-limit`}>At most this many tokens</label>
          <p class="rules" id={`${id}-limit-rules`}>{`from 1 to ${most}, which is what the server asked for`}</p>
          <input
            ref={box}
            id={`${id}-limit`}
            class="number"
            inputMode="numeric"
            autocomplete="off"
            value={limit}
            aria-invalid={problem}
            aria-describedby={`${id}-limit-rules${problem ? ` ${id}-limit-problem` : ""}`}
            onInput={(event) => setLimit(event.currentTarget.value)}
          />
          {problem && (
            <p class="problem" id={`${id}-limit-problem`}>{`This must be a whole number from 1 to ${most}.`}</p>
          )}
        </div>
      )}
      <div class="actions">
        <button type="submit" class="primary">
          Read it once more
        </button>
        <button type="button" onClick={onBack}>
          Leave it as it was
        </button>
      </div>
    </form>
  );
}

interface TextProps {
  readonly id: string;
  readonly label: string;
  readonly original: string;
  readonly draft: string;
  readonly onChange: (draft: string) => void;
}

/** A text box shows its text as it is: what hides something is shown escaped, to keep or to replace. */
function Text({ id, label, original, draft, onChange }: TextProps) {
  if (draft === original && !isPlain(original)) {
    const limits = { maxLength: Number.POSITIVE_INFINITY, maxLines: Number.POSITIVE_INFINITY };
    return (
      <div class="field">
        <Framed
          label={`${label}, with its hidden characters shown`}
          text={visible(original, { ...limits, multiline: true })}
        />
        <button type="button" onClick={() => onChange("")}>
          Write another text
        </button>
      </div>
    );
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={Math.min(12, Math.max(3, draft.split("\n").length))}
        autocomplete="off"
        spellcheck={false}
        value={draft}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}
