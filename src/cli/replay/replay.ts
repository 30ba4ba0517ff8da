/** `parley replay`: recorded calls made again. */
import type { Client } from "@modelcontextprotocol/client";
import { jsonText } from "../../present/result.ts";
import { jsonChanges } from "../../transcript/diff.ts";
import {
  type CallChange,
  type RecordedCall,
  type Replay,
  type ReplayOptions,
  replayCall,
} from "../../transcript/index.ts";
import { readScript, scriptedResponders } from "../call/answers.ts";
import { connect, peerName, readPeer } from "../call/peer.ts";
import { EXIT, type ExitCode, oneLine, usageError } from "../exit.ts";
import { reportFailure } from "../failure.ts";
import { parseObject } from "../files.ts";
import type { Io } from "../io.ts";
import { readTranscriptFile } from "./file.ts";

export interface ReplayFlags {
  readonly answers?: string;
  readonly args?: string;
  readonly answerChanged?: boolean;
  readonly header?: readonly string[];
  readonly json?: boolean;
}

export interface ReplayLine {
  /** The transcript, and the server's URL unless it is a command. */
  readonly operands: readonly string[];
  readonly command: readonly string[] | undefined;
  readonly flags: ReplayFlags;
}

/** Replays the calls of a transcript in their order and prints what is different. Throws nothing. */
export async function replay({ operands, command, flags }: ReplayLine, io: Io, signal: AbortSignal): Promise<ExitCode> {
  let server: string | undefined;
  try {
    const [file = "", ...url] = operands;
    const { peer } = readPeer([...url, file], command, flags.header ?? []);
    server = peerName(peer);
    const { calls, keep } = await readTranscriptFile(file, io.cwd);
    if (calls.length === 0) throw usageError(`the transcript ${file} has no call`, "record one with --record");
    const options = { ...(await readOptions(flags, io.cwd)), server, keep, signal };
    const client = await connect(peer, io.err, signal);
    try {
      return print(calls, await replayAll(client, calls, options), flags, io);
    } finally {
      await client.close();
    }
  } catch (error) {
    const { exit, code, message } = reportFailure(error, io, server);
    if (flags.json === true) io.out(jsonText({ error: { code, message } }));
    return exit;
  }
}

async function readOptions(flags: ReplayFlags, cwd: string): Promise<ReplayOptions> {
  const { answers, args, answerChanged = false } = flags;
  const script = answers === undefined ? undefined : await readScript(answers, cwd);
  return {
    answerChanged,
    ...(script && { instead: { keys: new Set(script.keys()), responders: scriptedResponders(script, answers ?? "") } }),
    ...(args !== undefined && { arguments: parseObject(args, "--args") }),
  };
}

async function replayAll(client: Client, calls: readonly RecordedCall[], options: ReplayOptions): Promise<Replay[]> {
  const replays: Replay[] = [];
  for (const call of calls) replays.push(await replayCall(client, call, options));
  return replays;
}

function print(calls: readonly RecordedCall[], replays: readonly Replay[], flags: ReplayFlags, io: Io): ExitCode {
  const told = replays.map(({ changes, stopped }, index) => {
    const { method = "", params = {} } = calls[index] ?? {};
    return { method, target: String(params["name"] ?? params["uri"]), changes, ...(stopped && { stopped }) };
  });
  const changed = told.some(({ changes }) => changes.length > 0);
  if (flags.json === true) io.out(jsonText({ changed, calls: told }));
  else {
    for (const { method, target, changes, stopped } of told) {
      io.out(oneLine(`${method} ${target}: ${changes.length === 0 ? "no difference" : counted(changes.length)}`));
      for (const line of changes.flatMap(linesOf)) io.out(`  ${oneLine(line)}`);
      if (stopped !== undefined) io.out(`  ${oneLine(STOPPED[stopped.reason](JSON.stringify(stopped.key)))}`);
    }
  }
  return changed ? EXIT.changed : EXIT.complete;
}

const STOPPED = {
  changed: (key: string) => `stopped at ${key}, which has changed; --answer-changed gives it the recorded answer`,
  not_recorded: (key: string) => `stopped at ${key}, to which nothing is recorded; give an answer with --answers`,
} as const;

function counted(changes: number): string {
  return `${changes} ${changes === 1 ? "change" : "changes"}`;
}

function linesOf(change: CallChange): string[] {
  switch (change.type) {
    case "question_added":
      return [`+ question ${JSON.stringify(change.key)} in round ${change.round}`];
    case "question_removed":
      return [`- question ${JSON.stringify(change.key)} in round ${change.round}`];
    case "question_changed": {
      const { key, round, part, before, after } = change;
      return [`~ ${part} of question ${JSON.stringify(key)} in round ${round}`, ...sides(before, after)];
    }
    case "question_moved":
      return [`~ question ${JSON.stringify(change.key)} in round ${change.after}, not ${change.before}`];
    case "rounds_changed":
      return [`~ asks in ${change.after} rounds, not ${change.before}`];
    case "result_changed":
      return ["~ result", ...sides(change.before, change.after, change.path)];
    case "end_changed":
      return [`~ ended: ${change.after}, not ${change.before}`];
  }
}

/** Objects member by member. */
function sides(before: unknown, after: unknown, path = ""): string[] {
  return jsonChanges(before, after, path).flatMap((change) => {
    const at = change.path === "" ? "" : `${change.path}: `;
    return [
      ...("before" in change ? [`    - ${at}${jsonText(change.before)}`] : []),
      ...("after" in change ? [`    + ${at}${jsonText(change.after)}`] : []),
    ];
  });
}
