import type { MrtrMethod, QuestionKind } from "../protocol/types.ts";
import { answerFor } from "./answer.ts";
import type { Policy, PolicyDecision, PolicyQuestion } from "./decision.ts";
import { matches, mismatch } from "./match.ts";
import { readRules } from "./read.ts";
import type { Rules } from "./rule.ts";

/** A rule matched and its answer was not given: the question goes to a person. Without any answered value. */
export interface PolicyWarning {
  readonly rule: string;
  readonly server: string;
  readonly key: string;
  readonly reason: string;
}

/** What became of one rule: it decided, it would have if no rule before it had, or why it does not match. */
export interface RuleReport {
  readonly rule: string;
  readonly outcome: "decides" | "later" | "differs";
  readonly why?: string;
}

export interface Explanation {
  readonly decision: PolicyDecision;
  /** In the file's order. */
  readonly rules: readonly RuleReport[];
  /** Why the rule that matched did not answer. */
  readonly warning?: string;
}

/** What may be known of a call before it is made. */
export interface CallAbout {
  readonly server?: string;
  readonly method?: MrtrMethod;
  readonly target?: string;
}

/** The policy of a file. */
export interface FilePolicy extends Policy {
  /** How many rules it has. */
  readonly size: number;
  /** Decides as `decide` does, warns nobody, and says of every rule why. */
  explain(question: PolicyQuestion): Explanation;
  /** The kinds of question that some rule may answer in such a call. */
  answers(about?: CallAbout): ReadonlySet<QuestionKind>;
  /** Whether this server's annotations of its tools count: the file's `trustAnnotations`. */
  trusts(server: string): boolean;
}

export interface PolicyOptions {
  /** Told when a rule matched and its answer does not fit the question. What it throws is ignored. Default: nobody. */
  onWarning?: (warning: PolicyWarning) => void;
}

/**
 * Reads a policy file's JSON. Rules are tried in order and the first that matches decides; without one a person is
 * asked. An answer that does not fit the very question (its schema, a secret it does not name, an unsafe address) is
 * not sent: a person is asked, and `onWarning` says why.
 *
 * An `accept` that does not name the tool exactly does not match a call of a tool that may be destructive: one that
 * the host did not call harmless, or of a server that the file does not list in `trustAnnotations`, because
 * annotations are the server's own words.
 *
 * @throws ParleyError `configuration` with `details.path` and `details.remedy`.
 */
export function readPolicy(file: unknown, { onWarning }: PolicyOptions = {}): FilePolicy {
  const rules = readRules(file);
  return {
    size: rules.rules.length,
    decide(question) {
      const { decision, warning } = explain(rules, question);
      if (warning !== undefined && decision.rule !== undefined) {
        const { server, key } = question.context;
        tell(onWarning, { rule: decision.rule, server: server.id, key, reason: warning });
      }
      return decision;
    },
    explain: (question) => explain(rules, question),
    answers: (about) => answersOf(rules, about ?? {}),
    trusts: (server) => rules.trustAnnotations.includes(server),
  };
}

/** An observer must not change a call. */
export function tell<T>(observer: ((value: T) => void) | undefined, value: T): void {
  try {
    observer?.(value);
  } catch {
    // Its own fault.
  }
}

function explain({ rules, trustAnnotations }: Rules, question: PolicyQuestion): Explanation {
  const { method, server } = question.context;
  const harmless = !question.destructive && (method !== "tools/call" || trustAnnotations.includes(server.id));
  const whys = rules.map((rule) => mismatch(rule, question, harmless));
  const first = whys.indexOf(undefined);
  const reports = rules.map(({ name }, index): RuleReport => {
    const why = whys[index];
    if (why !== undefined) return { rule: name, outcome: "differs", why };
    return { rule: name, outcome: index === first ? "decides" : "later" };
  });
  const decided = rules[first];
  if (decided === undefined) return { decision: { type: "ask" }, rules: reports };
  const { verdict, name: rule } = decided;
  switch (verdict.action) {
    case "ask":
      return { decision: { type: "ask", rule }, rules: reports };
    case "fail":
      return { decision: { type: "fail", reason: verdict.reason, rule }, rules: reports };
    case "decline":
      return { decision: { type: "answer", response: { action: "decline" }, rule }, rules: reports };
    case "accept": {
      const fitted = answerFor(verdict, question.request);
      if (!fitted.ok) return { decision: { type: "ask", rule }, rules: reports, warning: fitted.reason };
      return { decision: { type: "answer", response: fitted.response, rule }, rules: reports };
    }
  }
}

function answersOf({ rules }: Rules, { server, method, target }: CallAbout): ReadonlySet<QuestionKind> {
  const able = rules.filter(({ when, verdict }) => {
    if (verdict.action !== "accept" && verdict.action !== "decline") return false;
    if (server !== undefined && when.server && !matches(when.server, server)) return false;
    if (method !== undefined && when.target && when.target.method !== method) return false;
    return target === undefined || !when.target || matches(when.target.name, target);
  });
  return new Set(able.flatMap(({ kinds }) => kinds));
}
