import type { FieldView } from "../../present/index.ts";
import type { Entry } from "./form-state.ts";

export interface FieldProps {
  readonly view: FieldView;
  /** Never made of the server's names. */
  readonly id: string;
  readonly entry: Entry;
  readonly problem: string | undefined;
  readonly confirmation: boolean;
  readonly onChange: (entry: Entry) => void;
  /** The keyboard goes on to the next field. */
  readonly onLeave: () => void;
}

/** What every control is told about its labels. */
export interface ControlProps extends FieldProps {
  readonly describedBy: string;
}
