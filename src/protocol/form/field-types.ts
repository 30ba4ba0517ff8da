import type { StringFormat } from "../types.ts";

/** One choice: `value` goes on the wire, `title` is what a person reads (the value itself if untitled). */
export interface FieldOption {
  readonly value: string;
  readonly title: string;
}

interface FieldBase {
  readonly name: string;
  readonly required: boolean;
  readonly title?: string;
  readonly description?: string;
  /** The word that makes this field look like a request for a secret (D14, F1). */
  readonly secret?: string;
  /** Keywords of the server's schema that this reader does not honour, such as `pattern` (F3). */
  readonly ignored?: readonly string[];
}

export interface TextField extends FieldBase {
  readonly kind: "text";
  /** Lengths count Unicode code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: StringFormat;
  readonly default?: string;
}
export interface NumberField extends FieldBase {
  readonly kind: "number" | "integer";
  /** Bounds are inclusive. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}
export interface BooleanField extends FieldBase {
  readonly kind: "boolean";
  readonly default?: boolean;
}
export interface ChoiceField extends FieldBase {
  readonly kind: "choice";
  readonly options: readonly FieldOption[];
  readonly default?: string;
}
export interface ChoicesField extends FieldBase {
  readonly kind: "choices";
  readonly options: readonly FieldOption[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: readonly string[];
}

/** One property of a form, whichever of its spellings the schema used (D5 to D10). */
export type Field = TextField | NumberField | BooleanField | ChoiceField | ChoicesField;
