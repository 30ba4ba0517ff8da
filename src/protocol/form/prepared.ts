import type { FormSchema } from "../types.ts";

/** Whether content answers a form. `reason` names the fields, has at most 500 characters and repeats no typed value. */
export type FormVerdict<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

/** A form that may be sent: checked once, then used for every round. */
export interface PreparedForm<T = unknown> {
  /** What goes on the wire as `requestedSchema`, deep-frozen. */
  readonly wire: FormSchema;
  /**
   * Judges the `content` of an accept. It must first satisfy `wire`, so that nothing the form did not allow reaches
   * the author's schema (B15); then a Standard Schema has the last word and yields its own output, defaults and
   * transforms applied. Missing content is `{}` (B23); fields the form does not have are ignored (A18). The verdict
   * is a promise only if the schema is asynchronous. What the schema's own code throws is not caught.
   */
  validate(content: unknown): FormVerdict<T> | Promise<FormVerdict<T>>;
}
