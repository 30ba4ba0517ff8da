import type { ClientCapabilities, InputRequest } from "./types.ts";

/** What a client must have declared on this request to be asked `request` (A11, F3). */
export function requiredCapabilities(request: InputRequest): ClientCapabilities {
  switch (request.method) {
    case "elicitation/create":
      return request.params.mode === "url" ? { elicitation: { url: {} } } : { elicitation: { form: {} } };
    case "sampling/createMessage": {
      const { tools, toolChoice } = request.params;
      return tools === undefined && toolChoice === undefined ? { sampling: {} } : { sampling: { tools: {} } };
    }
    case "roots/list":
      return { roots: {} };
  }
}

/**
 * The part of `required` that `declared` lacks, nested exactly as `-32021` reports it (A13), or `undefined`.
 * A bare `elicitation: {}` declares the form mode (D24); naming any mode ends that reading.
 */
export function missingCapabilities(
  required: ClientCapabilities,
  declared: ClientCapabilities | undefined,
): ClientCapabilities | undefined {
  const missing: Record<string, object> = {};
  for (const [name, wanted] of Object.entries(required)) {
    const have = (declared as Record<string, unknown> | undefined)?.[name];
    if (typeof have !== "object" || have === null) {
      missing[name] = wanted;
      continue;
    }
    const lacking = Object.entries(wanted as Record<string, object>).filter(
      ([member]) => !declares(name, member, have),
    );
    if (lacking.length > 0) missing[name] = Object.fromEntries(lacking);
  }
  return Object.keys(missing).length > 0 ? missing : undefined;
}

/** The union of several requirements. */
export function mergeCapabilities(all: readonly ClientCapabilities[]): ClientCapabilities {
  const merged: Record<string, Record<string, object>> = {};
  for (const one of all) {
    for (const [name, members] of Object.entries(one)) merged[name] = { ...merged[name], ...members };
  }
  return merged;
}

function declares(name: string, member: string, have: object): boolean {
  if (Object.hasOwn(have, member)) return true;
  return name === "elicitation" && member === "form" && !Object.hasOwn(have, "url");
}
