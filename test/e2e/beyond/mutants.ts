import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { createParley } from "../../../src/index.ts";
import { askFlows } from "../../conformance/server/ask-flows.ts";
import { text } from "../../conformance/server/content.ts";
import { serveHttp, type TestServer } from "../../helpers/http.ts";
import { type Mount, serveFlows } from "../../helpers/mounts.ts";
import type { ProbeName } from "./probes.ts";

/** A handler as one writes it on the SDK alone, with one mistake in it. */
type Handler = (ctx: ServerContext) => Promise<object>;

export interface Mutant {
  readonly name: string;
  /** The wrong tool, by the part of its name that differs. */
  readonly tools: Readonly<Record<string, Handler>>;
  /** Its server does not verify what comes back. */
  readonly unverified?: true;
  /** What must go red on it, and at which assertion. */
  readonly dies: Readonly<Partial<Record<ProbeName, RegExp>>>;
}

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const codec = createRequestStateCodec<{ asked: string }>({ key: "k".repeat(32) });
const askName = inputRequired.elicit({
  message: "What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
});
const capital = inputRequired.createMessage({
  messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
  maxTokens: 100,
});
const ok = inputRequired.elicit({
  message: "Please confirm",
  requestedSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
});
const answered = (ctx: ServerContext) => ctx.mcpReq.inputResponses !== undefined;
const okOf = (ctx: ServerContext) => acceptedContent<{ ok: boolean }>(ctx.mcpReq.inputResponses, "confirm")?.ok;

/** Section 6 of our notes on the suite: all but two of these score 40/40 there, or with a warning. */
export const mutants: readonly Mutant[] = [
  {
    name: "the state is never verified",
    unverified: true,
    tools: {
      tampered_state: async (ctx) =>
        answered(ctx)
          ? text(`integrity-ok: ${okOf(ctx)}`)
          : inputRequired({ inputRequests: { confirm: ok }, requestState: `plain-${Math.random()}` }),
    },
    dies: {
      "C3 an altered state is refused, wherever it was altered": /^altered/,
      "C7 a state belongs to the tool it was made for": /^another tool/,
    },
  },
  {
    name: "any inputResponses are done",
    tools: {
      elicitation: async (ctx) => {
        const name = acceptedContent<{ name: string }>(ctx.mcpReq.inputResponses, "user_name")?.name;
        if (answered(ctx)) return text(`Hello, ${name}!`);
        return inputRequired({
          inputRequests: { user_name: askName },
          requestState: await codec.mint({ asked: "name" }),
        });
      },
    },
    dies: { "B15 A18 an answer is used, and only an answer is": /^no answer: \{\}/ },
  },
  {
    name: "the sampled text is ignored",
    tools: {
      sampling: async (ctx) =>
        answered(ctx)
          ? text("The model says: Paris")
          : inputRequired({
              inputRequests: { capital_question: capital },
              requestState: await codec.mint({ asked: "capital" }),
            }),
    },
    dies: { "the sampled text is used": /^the answer is used.*not Paris/ },
  },
  {
    name: "the state is not needed",
    tools: {
      request_state: async (ctx) =>
        okOf(ctx) === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: await codec.mint({ asked: "confirm" }) })
          : text(`state-ok: ${okOf(ctx)}`),
    },
    dies: { "B11 an answer without the state of its question does not count": /^answered cold/ },
  },
  {
    name: "the result does not say what was answered",
    tools: {
      request_state: async (ctx) =>
        ctx.mcpReq.requestState() === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: await codec.mint({ asked: "confirm" }) })
          : text("done"),
    },
    dies: { "B11 an answer without the state of its question does not count": /^the answer is used/ },
  },
  {
    name: "the state is minted in clear, while what comes back is verified",
    tools: {
      request_state: async (ctx) =>
        ctx.mcpReq.requestState() === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: "abc" })
          : text(`state-ok: ${okOf(ctx)}`),
    },
    dies: { "B11 an answer without the state of its question does not count": /^the answer is used/ },
  },
  {
    name: "an undeclared kind is asked for",
    tools: {
      capabilities: async (ctx) =>
        answered(ctx)
          ? text("Ada Hi")
          : inputRequired({ inputRequests: { user_name: askName }, requestState: await codec.mint({ asked: "name" }) }),
    },
    dies: { "A12 nothing undeclared is asked": /^what was declared/ },
  },
  {
    name: "a decline is asked again",
    tools: {
      request_state: async (ctx) =>
        okOf(ctx) === undefined || ctx.mcpReq.requestState() === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: await codec.mint({ asked: "confirm" }) })
          : text(`state-ok: ${okOf(ctx)}`),
    },
    dies: { "B14 A24 decline and cancel end the call, politely and at once": /^after decline/ },
  },
  {
    name: "a state of one tool passes in another",
    tools: {
      tampered_state: async (ctx) =>
        ctx.mcpReq.requestState() === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: await codec.mint({ asked: "confirm" }) })
          : text(`integrity-ok: ${okOf(ctx)}`),
      request_state: async (ctx) =>
        ctx.mcpReq.requestState() === undefined
          ? inputRequired({ inputRequests: { confirm: ok }, requestState: await codec.mint({ asked: "confirm" }) })
          : text(`state-ok: ${okOf(ctx)}`),
    },
    dies: { "C7 a state belongs to the tool it was made for": /^another tool/ },
  },
];

const fixtureParley = () => createParley({ keys: [KEY], callers: "anonymous", onEvent: () => {} });

/** The fixtures as flows, as they are. */
export function serveRight(mount: Mount): Promise<TestServer> {
  return serveFlows(mount, fixtureParley(), askFlows, { name: "fixtures" });
}

/** The fixtures as flows, with the tools of `mutant` instead of ours. */
export function serveFixtures(mutant?: Mutant): Promise<TestServer> {
  const parley = fixtureParley();
  const tools = Object.entries(mutant?.tools ?? {}).map(
    ([name, run]) => [`test_input_required_result_${name}`, run] as const,
  );
  const flows = askFlows.filter((flow) => tools.every(([name]) => name !== flow.name));
  return serveHttp(() => {
    const options = mutant?.unverified ? {} : { requestState: { verify: codec.verify } };
    const server = new McpServer({ name: "fixtures", version: "1.0.0" }, options);
    for (const [name, run] of tools) server.registerTool(name, {}, (ctx) => run(ctx) as never);
    parley.register(server, flows);
    return server;
  });
}
