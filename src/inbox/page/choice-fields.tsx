import type { ComponentChildren } from "preact";
import type { ControlProps } from "./field-props.ts";
import type { Entry } from "./form-state.ts";

/** Up to here every choice is in sight; more of them go into a list. */
const MAX_RADIOS = 8;

/** An explicit yes or no. Nothing is ticked that was not prefilled; a confirmation never is (F2). */
export function YesOrNo(props: ControlProps) {
  return (
    <>
      <Radio {...props} at={0} value={true}>
        Yes
      </Radio>
      <Radio {...props} at={1} value={false}>
        No
      </Radio>
      <EmptyRadio {...props} at={2} />
    </>
  );
}

export function OneChoice(props: ControlProps) {
  const { view, id, entry, problem, describedBy, onChange } = props;
  const options = view.options ?? [];
  if (options.length <= MAX_RADIOS) {
    return (
      <>
        {options.map((option, at) => (
          <Radio key={option.value} {...props} at={at} value={option.value}>
            <bdi>{option.label}</bdi>
          </Radio>
        ))}
        <EmptyRadio {...props} at={options.length} />
      </>
    );
  }
  // The options' places stand for their values: an empty value is a choice like any other.
  const chosen = options.findIndex((option) => option.value === entry);
  return (
    <select
      id={id}
      aria-label="Choose one"
      aria-required={view.field.required}
      aria-invalid={problem !== undefined}
      aria-describedby={describedBy}
      value={String(chosen)}
      onChange={(event) => onChange(options[Number(event.currentTarget.value)]?.value)}
    >
      <option value="-1">{view.field.required ? "(not chosen yet)" : "(left empty)"}</option>
      {options.map((option, at) => (
        <option key={option.value} value={String(at)}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

export function ManyChoices({ view, id, entry, problem, onChange }: ControlProps) {
  const chosen = (entry ?? []) as readonly string[];
  const options = view.options ?? [];
  const toggle = (value: string, on: boolean) =>
    // In the order of the form, whatever the order of ticking.
    onChange(options.map((option) => option.value).filter((each) => (each === value ? on : chosen.includes(each))));
  return (
    <div class="choices">
      {options.map((option, at) => (
        <label class="choice" key={option.value}>
          <input
            type="checkbox"
            id={at === 0 ? id : `${id}-${at}`}
            checked={chosen.includes(option.value)}
            aria-invalid={problem !== undefined}
            onChange={(event) => toggle(option.value, event.currentTarget.checked)}
          />
          <bdi>{option.label}</bdi>
        </label>
      ))}
    </div>
  );
}

/** For a field that need not be answered, the way back to no answer. */
function EmptyRadio(props: ControlProps & { at: number }) {
  if (props.view.field.required || props.confirmation) return null;
  return (
    <Radio {...props} value={undefined}>
      <span class="muted">Leave it empty</span>
    </Radio>
  );
}

interface RadioProps extends ControlProps {
  readonly at: number;
  readonly value: Entry;
  readonly children: ComponentChildren;
}

function Radio({ id, entry, at, value, onChange, children }: RadioProps) {
  return (
    <label class="choice">
      <input
        type="radio"
        id={at === 0 ? id : `${id}-${at}`}
        name={id}
        checked={entry === value}
        onChange={() => onChange(value)}
      />
      {children}
    </label>
  );
}
