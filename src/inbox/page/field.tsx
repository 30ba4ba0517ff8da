/** One field of a form: whose words they are, what may be answered, and the control (F8, I4). */
import { ManyChoices, OneChoice, YesOrNo } from "./choice-fields.tsx";
import type { FieldProps } from "./field-props.ts";
import { Quoted, Warnings } from "./server-text.tsx";
import { NumberBox, TextBox } from "./text-fields.tsx";

export function FieldRow({ number, of, ...props }: FieldProps & { number: number; of: number }) {
  const { view, id, problem } = props;
  const about = [
    view.description !== undefined && `${id}-description`,
    `${id}-rules`,
    view.warnings.length > 0 && `${id}-warnings`,
    problem !== undefined && `${id}-problem`,
  ];
  const control = { ...props, describedBy: about.filter(Boolean).join(" ") };
  const label = (
    <>
      {of > 1 && <span class="count">{`Field ${number} of ${of}`}</span>} <bdi class="label">{view.label}</bdi>
      {view.name !== undefined && (
        <span class="sent-as">
          {" "}
          sent as <bdi class="wire">{view.name}</bdi>
        </span>
      )}
    </>
  );
  const notes = (
    <>
      {view.description !== undefined && (
        <p class="description" id={`${id}-description`}>
          <bdi>{view.description.text}</bdi>
        </p>
      )}
      <p class="rules" id={`${id}-rules`}>
        {view.rules.join(" · ")}
        {view.default !== undefined && (
          <>
            {" · the server’s default: "}
            <Quoted text={view.default} />
          </>
        )}
      </p>
      <Warnings warnings={view.warnings} id={`${id}-warnings`} />
    </>
  );
  const said = problem !== undefined && (
    <p class="problem" id={`${id}-problem`}>
      {problem}
    </p>
  );
  if (view.field.kind === "text" || view.field.kind === "number" || view.field.kind === "integer") {
    return (
      <div class="field">
        <label for={id}>{label}</label>
        {notes}
        {view.field.kind === "text" ? <TextBox {...control} /> : <NumberBox {...control} />}
        {said}
      </div>
    );
  }
  const single = view.field.kind !== "choices";
  return (
    <fieldset
      class="field"
      id={`${id}-group`}
      aria-describedby={control.describedBy}
      {...(single
        ? { role: "radiogroup", "aria-required": view.field.required, "aria-invalid": problem !== undefined }
        : {})}
    >
      <legend>{label}</legend>
      {notes}
      {view.field.kind === "boolean" && <YesOrNo {...control} />}
      {view.field.kind === "choice" && <OneChoice {...control} />}
      {view.field.kind === "choices" && <ManyChoices {...control} />}
      {said}
    </fieldset>
  );
}
