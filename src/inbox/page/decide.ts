/** Sending a decision, and saying what became of it. */
import { useState } from "preact/hooks";
import type { CallView, Decision, DecisionRequest } from "../api.ts";
import { type PageProblem, path } from "./client.ts";
import { usePage } from "./context.ts";
import { clock } from "./time.ts";

export interface Decide {
  readonly busy: boolean;
  /** Why the last decision did not count. */
  readonly problem: PageProblem | undefined;
  /** Sends it once; a second press while it is under way does nothing (D3). The problem, if there is one. */
  readonly decide: (decision: DecisionRequest) => Promise<PageProblem | undefined>;
  readonly clear: () => void;
}

export interface DecideProps {
  readonly call: string;
  readonly question: string;
  readonly onCall: (call: CallView) => void;
  /** Somebody else was faster, or it is too late: what is shown is old. */
  readonly onStale: (problem: PageProblem) => void;
}

const STALE = new Set(["already_decided", "expired", "unknown"]);

export function useDecide({ call, question, onCall, onStale }: DecideProps): Decide {
  const { api } = usePage();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<PageProblem>();
  return {
    busy,
    problem,
    clear: () => setProblem(undefined),
    async decide(decision) {
      if (busy) return undefined;
      setBusy(true);
      setProblem(undefined);
      const reply = await api.post<CallView>(path`/api/calls/${call}/questions/${question}`, decision);
      setBusy(false);
      if (reply.ok) {
        onCall(reply.value);
        return undefined;
      }
      if (STALE.has(reply.problem.code)) onStale(reply.problem);
      else setProblem(reply.problem);
      return reply.problem;
    },
  };
}

const VERBS: Record<Decision["action"], string> = {
  accept: "Accepted",
  decline: "Declined",
  cancel: "Dismissed without an answer",
  refuse: "Refused",
};

/** "Declined by a person, 14:03." A policy's decision is never shown as a person's. */
export function decisionText({ action, by, at }: Decision, now: number): string {
  const who = by.type === "person" ? "by a person" : `by the policy rule “${by.rule}”, not by a person`;
  return `${VERBS[action]} ${who}, ${clock(at, now)}.`;
}

export function verbOf(action: Decision["action"]): string {
  return VERBS[action];
}
