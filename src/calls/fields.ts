import { type Field, readForm } from "../protocol/form/index.ts";
import type { ElicitFormParams } from "../protocol/types.ts";

const read = new WeakMap<object, Field[]>();

/**
 * The fields of a form, read when it came: an answer is held to what was asked, whatever a responder did to the params since.
 * @throws as `readForm`.
 */
export function fieldsOf(params: ElicitFormParams): Field[] {
  const known = read.get(params);
  if (known !== undefined) return known;
  const fields = readForm(params.requestedSchema);
  read.set(params, fields);
  return fields;
}
