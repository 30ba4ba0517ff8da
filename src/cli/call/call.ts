/** `parley call`, `parley prompt` and `parley read`: one call, all its rounds. */
import type { Client } from "@modelcontextprotocol/client";
import type { CallParams, CallResults } from "../../calls/call.ts";
import { createCalls } from "../../calls/calls.ts";
import type { CallEvent } from "../../calls/events.ts";
import type { Responders } from "../../calls/responder.ts";
import { terminalResponders } from "../../present/index.ts";
import type { MrtrMethod } from "../../protocol/types.ts";
import { EXIT, type ExitCode, errorLine, oneLine, usageError } from "../exit.ts";
import { reportFailure } from "../failure.ts";
import { parseObject } from "../files.ts";
import type { Io } from "../io.ts";
import { jsonText, renderResult } from "../output.ts";
import { readScript, scriptedResponders } from "./answers.ts";
import { connect, peerName, readPeer } from "./peer.ts";

export interface CallFlags {
  readonly args?: string;
  readonly answers?: string;
  readonly header?: readonly string[];
  readonly json?: boolean;
}

export interface CallLine {
  readonly method: MrtrMethod;
  readonly operands: readonly string[];
  /** What stood after `--`. */
  readonly command: readonly string[] | undefined;
  readonly flags: CallFlags;
}

/** One answer of the server. `stateBytes` is the size of what it wants back; 0 with the final result. */
interface Round {
  readonly questions: readonly string[];
  readonly stateBytes: number;
  readonly ms: number;
}

/** Drives the call to its end and prints it. Returns the exit code; throws nothing. */
export async function call(line: CallLine, io: Io, signal: AbortSignal): Promise<ExitCode> {
  const rounds: Round[] = [];
  let server: string | undefined;
  try {
    const { peer, name } = readPeer(line.operands, line.command, line.flags.header ?? []);
    server = peerName(peer);
    const params = readParams(line.method, name, line.flags.args);
    const responders = await readResponders(line.flags.answers, io);
    const client = await connect(peer, io.err, signal);
    try {
      const result = await drive(client, {
        method: line.method,
        params,
        server,
        responders,
        rounds,
        signal,
        onTask: io.err,
      });
      return print(line, name, { result, rounds }, io);
    } finally {
      await client.close();
    }
  } catch (error) {
    const { exit, code, message } = reportFailure(error, io, server);
    if (line.flags.json === true) io.out(jsonText({ error: { code, message }, rounds }));
    return exit;
  }
}

interface Drive {
  readonly method: MrtrMethod;
  readonly params: CallParams[MrtrMethod];
  readonly server: string;
  readonly responders: Responders;
  readonly rounds: Round[];
  readonly signal: AbortSignal;
  /** Told how a task stands that the call has become. */
  onTask(line: string): void;
}

async function drive(client: Client, setting: Drive): Promise<CallResults[MrtrMethod]> {
  const { method, params, server, responders, rounds, signal, onTask } = setting;
  const onEvent = (event: CallEvent) => {
    const ms = "ms" in event ? Math.round(event.ms) : 0;
    if (event.type === "interim") {
      rounds.push({ questions: event.questions.map(({ key }) => key), stateBytes: event.stateBytes, ms });
    } else if (event.type === "complete") rounds.push({ questions: [], stateBytes: 0, ms });
    else if (event.type === "task" && event.status === "working") onTask(taskLine(event.statusMessage));
  };
  const calls = createCalls(client, { server, responders, onEvent });
  return (await calls.open(method, params, { signal })).run();
}

/** The server's words, made visible. */
function taskLine(statusMessage: string | undefined): string {
  return oneLine(`parley: the call goes on as a task${statusMessage === undefined ? "" : `: ${statusMessage}`}`);
}

/** @throws ParleyError `usage` */
function readParams(method: MrtrMethod, name: string, args: string | undefined): CallParams[MrtrMethod] {
  if (method === "resources/read") return { uri: name };
  if (args === undefined) return { name };
  const given = parseObject(args, "--args");
  if (method === "prompts/get") {
    const [wrong] = Object.entries(given).find(([, value]) => typeof value !== "string") ?? [];
    if (wrong !== undefined)
      throw usageError(`--args: ${JSON.stringify(wrong)} is not a string`, "a prompt takes strings only");
  }
  return { name, arguments: given };
}

/** The file alone when there is one, so that a script does the same with and without a terminal; else the terminal. */
async function readResponders(answers: string | undefined, io: Io): Promise<Responders> {
  return answers === undefined ? terminalResponders() : scriptedResponders(await readScript(answers, io.cwd), answers);
}

function print(
  { method, flags }: CallLine,
  name: string,
  outcome: { result: CallResults[MrtrMethod]; rounds: Round[] },
  io: Io,
): ExitCode {
  const { result } = outcome;
  io.out(flags.json === true ? jsonText(outcome) : renderResult(method, result));
  if (method !== "tools/call" || !("isError" in result) || result.isError !== true) return EXIT.complete;
  io.err(errorLine({ message: `the tool ${name} reports an error`, remedy: "its own words are on standard output" }));
  return EXIT.toolError;
}
