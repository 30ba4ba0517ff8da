import type { ClientCapabilities } from "../protocol/types.ts";
import type { Responders } from "./responder.ts";

/**
 * What a client may declare when `responders` answer: exactly the members that exist (B16, B17). Without any, the
 * result is `{}`: a server that must ask then says so with `-32021` instead of asking nobody.
 */
export function capabilitiesOf(responders: Responders): ClientCapabilities {
  const { form, url, sample, sampleTools, roots } = responders;
  return {
    ...((form || url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
    ...(sample && { sampling: sampleTools === true ? { tools: {} } : {} }),
    ...(roots && { roots: {} }),
  };
}
