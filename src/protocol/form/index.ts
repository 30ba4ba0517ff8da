/** Forms: preparing one to send, reading one received, and judging answers to either. */
export { checkFormSchema } from "./check.ts";
export type {
  BooleanField,
  ChoiceField,
  ChoicesField,
  Field,
  FieldOption,
  NumberField,
  TextField,
} from "./field-types.ts";
export { type ReadFormOptions, readForm } from "./fields.ts";
export type { FormOptions } from "./form-options.ts";
export type { FormSource, FormValue, WireForm } from "./form-value.ts";
export type { FormVerdict, PreparedForm } from "./prepared.ts";
export { prepareForm } from "./schema.ts";
export { looksSecret, secretIn } from "./secrets.ts";
export {
  type ContentCheck,
  type ContentIssue,
  type ContentOptions,
  checkContent,
  checkField,
  describeIssues,
} from "./validate.ts";
