/** `parley call`, `parley prompt` and `parley read`: one call, all its rounds. */
import { resolve } from "node:path";
import type { CallParams, CallResults } from "../../calls/call.ts";
import type { Responders } from "../../calls/responder.ts";
import { messageOf } from "../../errors.ts";
import { type PolicyRecord, policyResponders, toolHarm } from "../../policy/index.ts";
import { terminalResponders } from "../../present/index.ts";
import { jsonText, renderResult } from "../../present/result.ts";
import { taskLines } from "../../present/tasks.ts";
import type { MrtrMethod } from "../../protocol/types.ts";
import { type Recording, recordTo, type TranscriptKeep } from "../../transcript/index.ts";
import { EXIT, type ExitCode, errorLine, oneLine, usageError } from "../exit.ts";
import { reportFailure } from "../failure.ts";
import { parseObject } from "../files.ts";
import type { Io } from "../io.ts";
import { readPolicyFlag } from "../policy/file.ts";
import { readScript, scriptedResponders } from "./answers.ts";
import { drive, type Round } from "./drive.ts";
import { readModel } from "./model.ts";
import { connect, peerName, readPeer } from "./peer.ts";

export interface CallFlags {
  readonly args?: string;
  readonly answers?: string;
  readonly policy?: string;
  readonly record?: string;
  readonly recordKeep?: readonly string[];
  readonly header?: readonly string[];
  readonly json?: boolean;
  readonly modelUrl?: string;
  readonly model?: string;
}

export interface CallLine {
  readonly method: MrtrMethod;
  readonly operands: readonly string[];
  /** What stood after `--`. */
  readonly command: readonly string[] | undefined;
  readonly flags: CallFlags;
}

/** Drives the call to its end and prints it. Returns the exit code; throws nothing. */
export async function call(line: CallLine, io: Io, signal: AbortSignal): Promise<ExitCode> {
  const rounds: Round[] = [];
  const decisions: PolicyRecord[] = [];
  const { flags } = line;
  // A policy's decisions are part of the record of a call (D1).
  const told = () => ({ rounds, ...(flags.policy !== undefined && { decisions }) });
  let server: string | undefined;
  try {
    const { peer, name } = readPeer(line.operands, line.command, flags.header ?? []);
    server = peerName(peer);
    const params = readParams(line.method, name, flags.args);
    const surface = await readResponders(flags, io);
    const policy = await readPolicyFlag(flags.policy, io);
    if (flags.record === undefined && flags.recordKeep !== undefined)
      throw usageError("--record-keep goes with --record only", "name the file with --record, or leave it out");
    const onTask = taskLines({ print: (text) => io.err(`parley: ${text}`) });
    const client = await connect(peer, io.err, signal);
    let recording: Recording | undefined;
    try {
      recording = openRecording(flags, io);
      const about = { server, method: line.method, target: name };
      const onDecision = (decision: PolicyRecord) => {
        decisions.push(decision);
        if (decision.action !== "ask") io.err(decisionLine(decision));
      };
      const responders =
        policy === undefined
          ? surface
          : policyResponders(policy, surface, { about, onDecision, destructive: toolHarm(client) });
      const setting = { method: line.method, params, server, responders, rounds, signal, recording, onTask };
      const result = await drive(client, setting);
      return print(line, name, { result, ...told() }, io);
    } finally {
      await client.close();
      closeRecording(recording, flags, io);
    }
  } catch (error) {
    const { exit, code, message } = reportFailure(error, io, server);
    if (flags.json === true) io.out(jsonText({ error: { code, message }, ...told() }));
    return exit;
  }
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
async function readResponders(flags: CallFlags, io: Io): Promise<Responders> {
  const { answers } = flags;
  const model = readModel(flags, process.env);
  return answers === undefined
    ? terminalResponders(model === undefined ? {} : { model, modelTools: true })
    : scriptedResponders(await readScript(answers, io.cwd), answers);
}

function decisionLine({ rule, action, key }: PolicyRecord): string {
  return oneLine(`parley: the policy's rule ${JSON.stringify(rule)} says ${action} to ${JSON.stringify(key)}`);
}

/** Made once there is a server, so that a wrong address leaves no empty file behind. */
function openRecording({ record, recordKeep = [] }: CallFlags, io: Io): Recording | undefined {
  return record === undefined ? undefined : recordTo(resolve(io.cwd, record), { keep: recordKeep as TranscriptKeep[] });
}

function closeRecording(recording: Recording | undefined, { record }: CallFlags, io: Io): void {
  recording?.close();
  if (recording?.problem === undefined) return;
  const message = `warning: the transcript ${record} is not whole (${messageOf(recording.problem)})`;
  io.err(errorLine({ message, remedy: "the call itself went on" }));
}

function print(
  { method, flags }: CallLine,
  name: string,
  outcome: { result: CallResults[MrtrMethod]; rounds: Round[]; decisions?: PolicyRecord[] },
  io: Io,
): ExitCode {
  const { result } = outcome;
  io.out(flags.json === true ? jsonText(outcome) : renderResult(method, result));
  if (method !== "tools/call" || !("isError" in result) || result.isError !== true) return EXIT.complete;
  io.err(errorLine({ message: `the tool ${name} reports an error`, remedy: "its own words are on standard output" }));
  return EXIT.toolError;
}
