import { useRef, useState } from "preact/hooks";
import { isObject } from "../../internal/json.ts";
import { visible } from "../../present/text.ts";
import { FocusHeading, TooEarly } from "./controls.tsx";
import { useGuard } from "./guard.ts";
import { useLatest } from "./latest.ts";
import { Framed } from "./server-text.tsx";

interface Props {
  readonly words: { readonly review: string; readonly heading: string; readonly send: string };
  readonly onSend: (values: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

/** Arguments of a shape that no form can draw, written as JSON; read once more before they are sent. */
export function JsonArguments({ words, onSend }: Props) {
  const [text, latestText, setText] = useLatest(() => "{}");
  const [problem, setProblem] = useState<string>();
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>();
  const box = useRef<HTMLTextAreaElement>(null);
  const guard = useGuard(values === undefined ? "json" : "json review");
  if (values !== undefined) {
    const shown = visible(JSON.stringify(values, null, 2), { maxLength: 20_000, maxLines: 1000, multiline: true });
    return (
      <section {...guard.props}>
        <FocusHeading level={3}>{words.heading}</FocusHeading>
        <Framed own label="With these arguments" text={shown} />
        <TooEarly pressedEarly={guard.pressedEarly} />
        <div class="actions">
          <button type="button" class="primary" onClick={() => void onSend(values)}>
            {words.send}
          </button>
          <button type="button" onClick={() => setValues(undefined)}>
            Change something
          </button>
        </div>
      </section>
    );
  }
  return (
    <form
      noValidate
      {...guard.props}
      onSubmit={(event) => {
        event.preventDefault();
        const read = readObject(latestText());
        setProblem(typeof read === "string" ? read : undefined);
        if (typeof read === "string") box.current?.focus();
        else setValues(read);
      }}
    >
      <div class="field">
        <label for="json-arguments">Arguments as JSON</label>
        <textarea
          ref={box}
          id="json-arguments"
          class="wire"
          rows={8}
          spellcheck={false}
          autocomplete="off"
          value={text}
          aria-invalid={problem !== undefined}
          {...(problem === undefined ? {} : { "aria-describedby": "json-problem" })}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {problem !== undefined && (
          <p class="problem" id="json-problem" role="alert">
            {problem}
          </p>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="primary">
          {words.review}
        </button>
      </div>
    </form>
  );
}

function readObject(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : 'This must be a JSON object, such as {"name": "value"}.';
  } catch {
    return "This cannot be read as JSON.";
  }
}
