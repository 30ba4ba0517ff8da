/** Whether a rule's conditions hold for a question, and if not, which one does not. */
import { isDeepStrictEqual } from "node:util";
import { kindOf } from "../protocol/types.ts";
import type { PolicyQuestion } from "./decision.ts";
import { globMatches } from "./glob.ts";
import { resolvePointer } from "./pointer.ts";
import type { Conditions, Matcher, Rule } from "./rule.ts";

/** Why `rule` does not match, as a phrase without any value of the question or the file; `undefined` if it does. */
export function mismatch(
  { when, verdict, kinds }: Rule,
  question: PolicyQuestion,
  harmless: boolean,
): string | undefined {
  const { context, request } = question;
  if (!kinds.includes(kindOf(request))) return `is not about ${kindOf(request)} questions`;
  if (when.server && !matches(when.server, context.server.id)) return "when.server is another";
  const { target } = when;
  if (target && target.method !== context.method) return `when.${target.member} goes with ${target.method}`;
  if (target && !matches(target.name, context.target)) return `when.${target.member} is another`;
  if (when.key && !matches(when.key, context.key)) return "when.key is another";
  if (when.hosts && !when.hosts.includes(hostOf(question))) return "when.hosts does not have the link's host";
  const other = when.arguments.find((argument) => !argumentMatches(argument, context.params["arguments"]));
  if (other !== undefined) return `when.arguments[${JSON.stringify(other.pointer)}] is another`;
  if (verdict.action === "accept" && !harmless && target?.name.type !== "oneOf") {
    return "accepts without naming the tool, and the tool is not known to be harmless";
  }
  return undefined;
}

export function matches(matcher: Matcher, value: unknown): boolean {
  switch (matcher.type) {
    case "oneOf":
      return matcher.values.some((one) => one === value);
    case "glob":
      return typeof value === "string" && globMatches(matcher.pattern, value);
    case "equals":
      return isDeepStrictEqual(matcher.value, value);
  }
}

/** An argument that is not there matches nothing, not even `*`. */
function argumentMatches({ path, value }: Conditions["arguments"][number], given: unknown): boolean {
  const found = resolvePointer(given, path);
  return found.found && matches(value, found.value);
}

function hostOf({ request }: PolicyQuestion): string {
  const { url } = request.params as { url?: unknown };
  return typeof url === "string" && URL.canParse(url) ? new URL(url).host : "";
}
