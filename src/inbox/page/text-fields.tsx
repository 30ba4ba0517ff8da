import type { ControlProps } from "./field-props.ts";
import { isPlain } from "./form-state.ts";
import { Framed } from "./server-text.tsx";

/** From this length on a text gets several lines; Enter is then part of the text. */
const LONG_TEXT = 300;

export function TextBox(props: ControlProps) {
  const { view, id, entry, onChange } = props;
  if (view.field.kind !== "text") return null;
  const standing = view.field.default;
  const hidden = standing !== undefined && !view.masked && !isPlain(standing);
  if (hidden && view.default !== undefined && entry === standing) {
    return (
      <>
        <Framed label="The server’s default, with its hidden characters shown" text={view.default} />
        <button type="button" id={id} onClick={() => onChange(undefined)}>
          Write another text
        </button>
      </>
    );
  }
  const long = standing?.includes("\n") === true || (view.field.maxLength ?? 0) >= LONG_TEXT;
  return (
    <>
      {long && !view.masked ? (
        <textarea {...boxOf(props)} rows={4} />
      ) : (
        <OneLine {...props} inputMode={inputModeOf(props)} />
      )}
      {hidden && (
        <button type="button" class="plain" onClick={() => onChange(standing)}>
          Use the server’s default
        </button>
      )}
    </>
  );
}

export function NumberBox(props: ControlProps) {
  // type=number would drop what it cannot read, and change under a turning wheel.
  return <OneLine {...props} inputMode={props.view.field.kind === "integer" ? "numeric" : "decimal"} />;
}

/** What is typed into a masked field is shown to nobody (F1). */
function OneLine({
  inputMode,
  ...props
}: ControlProps & { inputMode: "text" | "numeric" | "decimal" | "email" | "url" }) {
  const box = boxOf(props);
  return props.view.masked ? <input {...box} type="password" /> : <input {...box} type="text" inputMode={inputMode} />;
}

function inputModeOf({ view: { field } }: ControlProps) {
  const format = field.kind === "text" ? field.format : undefined;
  if (format === "email") return "email";
  return format === "uri" ? "url" : "text";
}

function boxOf({ view, id, entry, problem, describedBy, onChange, onLeave }: ControlProps) {
  return {
    id,
    value: (entry ?? "") as string,
    autocomplete: "off",
    autocapitalize: "off" as const,
    spellcheck: false,
    "aria-required": view.field.required,
    "aria-invalid": problem !== undefined,
    "aria-describedby": describedBy,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
    // Not on blur: a complaint that appears under a pressed mouse button would move what is being pressed away from it.
    onKeyDown: (event: { key: string }) => {
      if (event.key === "Tab") onLeave();
    },
  };
}
