/** The call that comes off: one function, four requests, two processes that never talk to each other. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { QuestionContext, Responders } from "../calls/responder.ts";
import type { ElicitResult } from "../protocol/types.ts";
import { SCRIPTED_ANSWERS } from "./deploy.ts";
import { expect, say } from "./page.ts";
import type { Report } from "./replicas.ts";
import type { Service } from "./service.ts";

export const DEPLOY = { name: "deploy", arguments: { service: "shop", env: "production" } };

/** @param person who answers; without one, the script does. */
export async function tellStory(service: Service, person?: Responders): Promise<void> {
  const seen: Report[] = [];
  let shown: Promise<void> = Promise.resolve();
  // Questions of one round come together; its report is awaited and printed once, before any of them is put.
  const showRound = (round: number): Promise<void> => {
    if (seen.length < round) {
      shown = shown.then(async () => {
        if (seen.length >= round) return;
        const report = await service.reports.next();
        seen.push(report);
        print(report, round);
      });
    }
    return shown;
  };
  const answering =
    <P>(ask: (params: P, context: QuestionContext) => Promise<ElicitResult>) =>
    async (params: P, context: QuestionContext): Promise<ElicitResult> => {
      await showRound(context.round);
      const answer = await ask(params, context);
      say(`           answer to ${context.key}: ${answer.action}${person ? "" : ` ${JSON.stringify(answer.content)}`}`);
      return answer;
    };
  const responders: Responders =
    person?.form === undefined
      ? { form: answering(async (_, { key }) => scripted(key)) }
      : { form: answering(person.form) };

  const calls = await service.callsOf("alice", { responders });
  const result = await calls.callTool(DEPLOY);
  await showRound(seen.length + 1);
  say(`  Result: ${textOf(result)}`);

  const ran = seen.flatMap((report) => report.ran);
  expect(new Set(ran).size === ran.length, `each step to run once, not ${ran.join(", ")}`);
  expect(
    new Set(seen.map(({ replica }) => replica)).size === service.replicas.length,
    "every replica to serve a round",
  );
  if (person === undefined) {
    expect(ran.join() === "plan,canary,rollout", `three steps, not ${ran.join(", ")}`);
    expect(seen.length === 4, `four requests, not ${seen.length}`);
    expect(textOf(result).startsWith("shop 1.5.0 goes to production tonight as deploy-"), "the deployment's result");
  }
  say(`  Steps that ran: ${ran.join(", ")}; each once, although the function started ${seen.length} times.`);
}

function print({ replica, ran, event }: Report, round: number): void {
  expect(event.type === "round", "a served round");
  const steps = ran.length > 0 ? `ran ${ran.join(", ")}; ` : "";
  const outcome =
    event.outcome === "asking"
      ? `asks ${event.questions.join(" and ")}; state ${event.stateBytes} bytes`
      : `${event.outcome}; no state left`;
  say(`  round ${round}  replica ${replica}  ${steps}${outcome}`);
}

function scripted(key: string): ElicitResult {
  expect(Object.hasOwn(SCRIPTED_ANSWERS, key), `a scripted answer to ${key}`);
  return SCRIPTED_ANSWERS[key as keyof typeof SCRIPTED_ANSWERS];
}

function textOf({ content }: CallToolResult): string {
  const [first] = content;
  return first?.type === "text" ? first.text : "";
}
