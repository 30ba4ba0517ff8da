/** `parley inbox`: calls of the named servers wait here for a person at the browser. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../errors.ts";
import { serveInbox } from "../../inbox/http/serve.ts";
import { createInbox, type Inbox } from "../../inbox/inbox.ts";
import type { InboxServer } from "../../inbox/options.ts";
import { isLoopback } from "../../internal/net.ts";
import type { PendingStore } from "../../pending/contract.ts";
import { memoryPending } from "../../pending/memory.ts";
import { sqlitePending } from "../../pending/sqlite.ts";
import type { RootsResult } from "../../protocol/types.ts";
import { keysIn } from "../../state/index.ts";
import { readModel } from "../call/model.ts";
import { connect, type Peer } from "../call/peer.ts";
import { oneLine, usageError } from "../exit.ts";
import { parseObject } from "../files.ts";
import type { Io } from "../io.ts";
import { readPolicyFlag } from "../policy/file.ts";
import { readServers } from "./servers.ts";

export interface InboxFlags {
  readonly server?: readonly string[];
  readonly header?: readonly string[];
  readonly port: number;
  readonly host: string;
  readonly store?: string;
  readonly policy?: string;
  readonly modelUrl?: string;
  readonly model?: string;
  readonly roots?: readonly string[];
  readonly start?: string;
  readonly args?: string;
}

/** Runs until `signal` fires. Calls that wait are kept, if there is a store to keep them in. */
export async function inbox(flags: InboxFlags, io: Io, signal: AbortSignal): Promise<void> {
  const warn = (text: string) => io.err(oneLine(`parley: warning: ${text}`));
  const peers = readServers(flags.server ?? [], flags.header ?? []);
  const start = readStart(flags, peers);
  const onError = (error: unknown) => warn(messageOf(error));
  const { modelUrl, model: modelName } = flags;
  const model = readModel({ ...(modelUrl && { modelUrl }), ...(modelName && { model: modelName }) }, process.env);
  const policy = await readPolicyFlag(flags.policy, io);
  const store = await openStore(flags.store, io.cwd, warn);
  const opened = createInbox({
    store,
    servers: Object.fromEntries([...peers].map(([name, peer]) => [name, serverOf(peer, io)])),
    ...(flags.roots && { roots: readRoots(flags.roots, io.cwd) }),
    ...(policy && { policy }),
    ...(model && { model, modelTools: true }),
    onError,
  });
  try {
    await run(opened, flags, { io, signal, warn, start, onError });
  } finally {
    await opened.close();
    await store.close();
  }
}

interface Setting {
  readonly io: Io;
  readonly signal: AbortSignal;
  readonly warn: (text: string) => void;
  readonly onError: (error: unknown) => void;
  readonly start: Start | undefined;
}

async function run(opened: Inbox, { host, port }: InboxFlags, setting: Setting): Promise<void> {
  const { io, signal, warn, start, onError } = setting;
  if (!isLoopback(host)) {
    warn(
      `${host} can be reached from other machines, and links and answers travel in the clear; put TLS in front of it`,
    );
  }
  const serving = await serveInbox(opened, { host, port, onError }).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      `cannot listen on ${host}:${port} (${error.code ?? error.message})`,
      "choose another --port or --host",
    );
  });
  try {
    if (start !== undefined) await opened.start({ method: "tools/call", ...start }, "host");
    io.out(`Inbox: ${serving.link()}`);
    const onLine = createInterface({ input: process.stdin }).on("line", () => io.out(`Inbox: ${serving.link()}`));
    signal.addEventListener("abort", () => onLine.close(), { once: true });
    if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  } finally {
    await serving.stop();
  }
}

/** With PARLEY_KEYS what the file holds is sealed. A file sealed with other keys is told of now, not call by call. */
async function openStore(file: string | undefined, cwd: string, warn: (text: string) => void): Promise<PendingStore> {
  if (file === undefined) {
    warn("calls are forgotten when this ends (keep them with --store FILE)");
    return memoryPending();
  }
  const keys = keysIn(process.env);
  const refuse = (error: unknown, remedy: string) =>
    usageError(`--store ${file} cannot be used: ${messageOf(error)}`, remedy, error);
  let store: PendingStore;
  try {
    store = sqlitePending({ path: resolve(cwd, file) }, keys.length > 0 ? { keys } : {});
  } catch (error) {
    throw refuse(error, "");
  }
  try {
    const [first] = (await store.list(1)).calls;
    if (first !== undefined) await store.get(first.id);
    return store;
  } catch (error) {
    await store.close();
    throw refuse(error, "give the keys it was written with in PARLEY_KEYS");
  }
}

/** Folders that are there (F25), as URIs (F23). */
function readRoots(folders: readonly string[], cwd: string): RootsResult {
  return {
    roots: folders.map((folder) => {
      const path = resolve(cwd, folder);
      if (!existsSync(path)) throw usageError(`--roots ${folder} is not there`, "name folders that exist");
      return { uri: pathToFileURL(path).href };
    }),
  };
}

function serverOf(peer: Peer, io: Io): InboxServer {
  return { connect: (signal) => connect(peer, io.err, signal) };
}

interface Start {
  readonly server: string;
  readonly target: string;
  readonly arguments?: Record<string, unknown>;
}

function readStart({ start, args }: InboxFlags, peers: ReadonlyMap<string, Peer>): Start | undefined {
  if (start === undefined) {
    if (args !== undefined) throw usageError("--args goes with --start", "give --start name:tool, or leave --args out");
    return undefined;
  }
  const [, server, target] = /^([^:]+):(.+)$/s.exec(start) ?? [];
  if (server === undefined || target === undefined || !peers.has(server)) {
    throw usageError(`--start ${start} is not name:tool with the name of a --server`, "write --start name:tool");
  }
  return { server, target, ...(args !== undefined && { arguments: parseObject(args, "--args") }) };
}
