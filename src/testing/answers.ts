import type { ElicitResult, FormContent, Root, RootsResult, SamplingResult } from "../protocol/types.ts";

/** A person submitted the form; without content, a link was agreed to or an empty form was sent. */
export function accept(content?: FormContent): ElicitResult {
  return content === undefined ? { action: "accept" } : { action: "accept", content };
}

/** A person ticked the box of `flow.confirm`. */
export function yes(): ElicitResult {
  return accept({ confirm: true });
}

/** A person sent `flow.confirm` without ticking the box: accepted, and not a yes. */
export function no(): ElicitResult {
  return accept({ confirm: false });
}

export function decline(): ElicitResult {
  return { action: "decline" };
}

export function cancel(): ElicitResult {
  return { action: "cancel" };
}

/** A model answered `text`. */
export function sampled(text: string, model = "test-model"): SamplingResult {
  return { role: "assistant", model, stopReason: "endTurn", content: { type: "text", text } };
}

export function roots(...uris: string[]): RootsResult {
  return { roots: uris.map((uri): Root => ({ uri })) };
}
