/**
 * A host without a model, on `mcp-parley/client` alone: it starts calls, keeps those that wait for a person as files,
 * and goes on with them whenever somebody decided, in this process or in a later one. What a surface draws is the
 * display model (`describeQuestion`): escaped, bounded, and never a word of the server's outside its place.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import {
  type Call,
  type CallEvent,
  createCalls,
  describeQuestion,
  type ElicitResult,
  type QuestionView,
} from "mcp-parley/client";

export interface HostOptions {
  /** The host's own name for the server: what people are shown, and what a kept call is bound to. */
  readonly server: string;
  /** Kept calls hold states and answers: a folder that nobody else reads. */
  readonly folder: string;
  /** Keys, kinds, sizes and times; never a state or an answer. Stands for your log. */
  readonly onEvent?: (event: CallEvent) => void;
}

/** What a person decided about one question; `undefined` leaves it for later. */
export type Decide = (view: QuestionView, key: string) => ElicitResult | undefined;

/** Where a call stands: waiting for a person, or over. */
export type Standing = { readonly id: string } & (
  | { readonly waitsFor: readonly string[] }
  | { readonly result: unknown }
  | { readonly failed: string }
);

export function createHost(client: Client, { server, folder, onEvent = () => {} }: HostOptions) {
  const calls = createCalls(client, { server, onEvent });
  const fileOf = (id: string) => join(folder, `${id}.json`);

  /** Keeps a call that waits, and forgets one that is over. A rename, so that a crash leaves the old file or the new. */
  const settle = async (call: Call): Promise<Standing> => {
    if (call.status !== "asking") {
      await rm(fileOf(call.id), { force: true });
      return { id: call.id, result: call.result };
    }
    await writeFile(`${fileOf(call.id)}.new`, JSON.stringify(call), { mode: 0o600 });
    await rename(`${fileOf(call.id)}.new`, fileOf(call.id));
    return { id: call.id, waitsFor: call.unanswered };
  };

  const viewsOf = (call: Call): [string, QuestionView][] => {
    const { params } = call.toJSON();
    const target = String(params["name"] ?? params["uri"]);
    return call.questions.map(({ key, request }) => {
      const signal = new AbortController().signal;
      const context = { server: { id: server }, method: call.method, target, params, key, round: call.round, signal };
      return [key, describeQuestion(request, context)];
    });
  };

  /** One kept call: what is decided is answered, and when nothing is open any more the round is sent. */
  const goOn = async (call: Call, decide: Decide): Promise<Standing> => {
    for (const [key, view] of viewsOf(call)) {
      if (!call.unanswered.includes(key)) continue;
      // A question that must not be put to a person fails the call by name; it is never declined for them.
      const [reason] = view.refused;
      if (reason !== undefined) throw new Error(`${key}: ${reason}`);
      const answer = decide(view, key);
      if (answer !== undefined) call.answer(key, answer);
    }
    if (call.unanswered.length === 0) await call.continue();
    return settle(call);
  };

  return {
    /** Starts a tool call. Only forms are declared: this host has no browser and no model. */
    async start(name: string, args: Record<string, unknown>): Promise<Standing> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const params = { name, arguments: args };
      return settle(await calls.open("tools/call", params, { capabilities: { elicitation: { form: {} } } }));
    },
    /** One pass over every call that waits. */
    async work(decide: Decide): Promise<Standing[]> {
      const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
      return Promise.all(
        files.map(async (file) => {
          const call = calls.resume(await readFile(join(folder, file), "utf8"));
          return goOn(call, decide).catch((error: Error) => ({ id: call.id, failed: error.message }));
        }),
      );
    },
  };
}
