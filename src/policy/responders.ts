import { decidedBy } from "../calls/decider.ts";
import type { QuestionContext, Responders } from "../calls/responder.ts";
import { ParleyError } from "../errors.ts";
import {
  type InputRequest,
  type InputResponse,
  kindOf,
  type MrtrMethod,
  type QuestionKind,
} from "../protocol/types.ts";
import type { PolicyDecision } from "./decision.ts";
import { type CallAbout, type FilePolicy, tell } from "./policy.ts";

/** What a policy said of one question. Never any content. */
export interface PolicyRecord {
  /** Absent when no rule matched. */
  readonly rule?: string;
  readonly action: "ask" | "accept" | "decline" | "fail";
  readonly server: string;
  readonly method: MrtrMethod;
  readonly target: string;
  readonly key: string;
  readonly kind: QuestionKind;
  readonly round: number;
}

export interface PolicyRespondersOptions {
  /** Told every decision, before it takes effect. What it throws is ignored. Default: nobody. */
  onDecision?: (record: PolicyRecord) => void;
  /**
   * Whether a tool may do harm, as far as the host knows; see `toolHarm`. Asked only for servers whose annotations the
   * file trusts. Default: every tool may.
   */
  destructive?: (tool: string) => boolean | Promise<boolean>;
  /** What is known of the calls these are for: rules that cannot match them declare nothing. Default: nothing. */
  about?: CallAbout;
}

/**
 * Responders that let `policy` decide first, and put to `next` what it says to ask. A kind is declared when `next` has
 * it or a rule may answer it (B30). What is to be asked where `next` has nobody for it fails as `unanswerable`, and so
 * does what a rule fails: nothing is ever declined but by a rule that says decline, and then `onDecision`, the
 * `answered` event's `by` and a transcript name it (B32, D1).
 */
export function policyResponders(
  policy: FilePolicy,
  next: Responders = {},
  options: PolicyRespondersOptions = {},
): Responders {
  const able = policy.answers(options.about);

  const decide = async <T extends InputResponse>(
    request: InputRequest,
    context: QuestionContext,
    ask: (() => Promise<T>) | undefined,
  ): Promise<T> => {
    const { signal: _, ...about } = context;
    const { server, method, target, key, round } = context;
    const known = method !== "tools/call" || policy.trusts(server.id);
    const destructive = method === "tools/call" && (known ? await (options.destructive?.(target) ?? true) : true);
    const decision = policy.decide({ request, context: about, destructive });
    tell(options.onDecision, {
      ...(decision.rule !== undefined && { rule: decision.rule }),
      action: actionOf(decision),
      ...{ server: server.id, method, target, key, kind: kindOf(request), round },
    });
    switch (decision.type) {
      case "answer":
        return decidedBy(`policy:${decision.rule}`, decision.response as T);
      case "fail":
        throw refusal(`the policy's rule ${JSON.stringify(decision.rule)} says: ${decision.reason}`, FAILED, decision);
      case "ask":
        if (ask === undefined)
          throw refusal("no rule of the policy answers it, and nobody is here to ask", ASK, decision);
        return ask();
    }
  };

  // Every member of Responders must be here: a new one does not compile until it is handed on (B32).
  const all: { [K in keyof Required<Responders>]: Responders[K] | undefined } = {
    form: forKind("form", next.form, (params, context, ask) =>
      decide({ method: "elicitation/create", params }, context, ask),
    ),
    url: forKind("url", next.url, (params, context, ask) =>
      decide({ method: "elicitation/create", params }, context, ask),
    ),
    sample: forKind("sample", next.sample, (params, context, ask) =>
      decide({ method: "sampling/createMessage", params }, context, ask),
    ),
    sampleTools: next.sampleTools,
    roots:
      next.roots || able.has("roots")
        ? (context) => decide({ method: "roots/list" }, context, next.roots && (() => next.roots!(context)))
        : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, member]) => member !== undefined)) as Responders;

  function forKind<P, R>(
    kind: QuestionKind,
    inner: ((params: P, context: QuestionContext) => Promise<R>) | undefined,
    answer: (params: P, context: QuestionContext, ask: (() => Promise<R>) | undefined) => Promise<R>,
  ): ((params: P, context: QuestionContext) => Promise<R>) | undefined {
    if (inner === undefined && !able.has(kind)) return undefined;
    return (params, context) => answer(params, context, inner && (() => inner(params, context)));
  }
}

const FAILED = "change the policy, or answer without it";
const ASK = "add a rule, or run it where a person can be asked";

function refusal(message: string, remedy: string, { rule }: PolicyDecision): ParleyError {
  return new ParleyError("unanswerable", message, { details: { remedy, ...(rule !== undefined && { rule }) } });
}

function actionOf(decision: PolicyDecision): PolicyRecord["action"] {
  if (decision.type !== "answer") return decision.type;
  return "action" in decision.response && decision.response.action === "decline" ? "decline" : "accept";
}
