/** The server of a call: an address, or a command to start. */
import type { ChildProcess } from "node:child_process";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Client, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ParleyError } from "../../errors.ts";
import { leanHttpTransport } from "../../transport/index.ts";
import { oneLine, usageError } from "../exit.ts";
import { VERSION } from "../version.ts";
import { MODEL_KEY } from "./model.ts";

export type Peer =
  | { readonly kind: "url"; readonly url: URL; readonly headers: Headers }
  | { readonly kind: "command"; readonly command: string; readonly args: readonly string[] };

/** Longest wait for the first answer: time enough for a command that has to be fetched first. */
const CONNECT_TIMEOUT_MS = 30_000;

const GRAMMAR = "give <url> and the name, or the name alone and the server's command after --";

/**
 * Sorts a command line out: `<url> <name>`, or `<name> -- <command> [args...]`.
 * @throws ParleyError `usage`
 */
export function readPeer(
  operands: readonly string[],
  command: readonly string[] | undefined,
  headers: readonly string[],
): { peer: Peer; name: string } {
  const [first, second] = operands;
  if (command === undefined) {
    if (first === undefined || second === undefined) throw usageError("the server or the name is missing", GRAMMAR);
    return { peer: { kind: "url", url: readUrl(first), headers: readHeaders(headers) }, name: second };
  }
  const [program, ...args] = command;
  if (program === undefined || program === "") throw usageError("there is no command after --", GRAMMAR);
  if (first === undefined || second !== undefined) throw usageError("exactly one name goes before --", GRAMMAR);
  if (headers.length > 0) throw usageError("--header goes with a URL only", "leave it out, or call the server by URL");
  return { peer: { kind: "command", command: program, args }, name: first };
}

/** @throws ParleyError `usage` */
export function readUrl(text: string, remedy = GRAMMAR): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw usageError(`${text} is not an http or https URL`, remedy);
  if (url.username !== "" || url.password !== "") {
    throw usageError("the URL carries a user name or password", 'give them in --header "Authorization: ..."');
  }
  return url;
}

/** Values may be secrets, so errors name the position only. */
export function readHeaders(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const [at, line] of lines.entries()) {
    const colon = line.indexOf(":");
    try {
      if (colon < 1) throw new TypeError("no colon");
      headers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
    } catch {
      throw usageError(`--header number ${at + 1} is not a header`, 'write --header "Name: value"');
    }
  }
  return headers;
}

/** The host's own name for the server (D17): nothing that may hold a secret, such as a query or a flag's value. */
export function peerName(peer: Peer): string {
  if (peer.kind === "url") return peer.url.host;
  const [script = "-"] = peer.args;
  return [peer.command, ...(script.startsWith("-") ? [] : [script])].map((word) => basename(word)).join(" ");
}

/**
 * Connects on revision 2026-07-28 and no other. A command is started with this process's environment, as a shell
 * would, except for the key of the person's model; what it writes to standard error is shown a line at a time, escaped and marked as its own (T1, T2).
 *
 * @throws ParleyError `aborted`, `connection_lost` for a command that ends at once, or what the SDK and the transport report. Nothing is left running then.
 */
export async function connect(peer: Peer, onLine: (line: string) => void, signal: AbortSignal): Promise<Client> {
  const client = new Client(
    { name: "mcp-parley", version: VERSION },
    { versionNegotiation: { mode: { pin: "2026-07-28" }, probe: { timeoutMs: CONNECT_TIMEOUT_MS } } },
  );
  const transport = peer.kind === "url" ? http(peer) : stdio(peer.command, peer.args, onLine);
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new ParleyError("aborted", "The call was aborted while connecting"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([client.connect(transport), aborted]);
  } catch (error) {
    const ending = transport instanceof OneProcess ? transport.ending : undefined;
    await transport.close();
    throw ending === undefined || signal.aborted ? error : endedAtOnce(peer, ending, error);
  }
  return client;
}

/** Nothing here signs in or speaks an older revision, which is what the SDK's own transport is for. */
function http({ url, headers }: { url: URL; headers: Headers }): Transport {
  return leanHttpTransport(url, { headers: Object.fromEntries(headers) });
}

/**
 * The SDK (2.4.0) asks a throw-away second process of the same command which revision it speaks, and discards what it
 * writes to standard error, unless the transport is a subclass: a server is started once here.
 */
class OneProcess extends StdioClientTransport {
  /** How the process ended, once it has. */
  ending: string | undefined;

  override async start(): Promise<void> {
    await super.start();
    // The SDK has no public way to the exit code.
    const { _process: child } = this as unknown as { _process?: ChildProcess };
    child?.once("exit", (code, signal) => {
      this.ending = signal === null ? `exit code ${code}` : `signal ${signal}`;
    });
  }
}

/** More to the point than what the negotiation says of a peer that is not there. */
function endedAtOnce(peer: Peer, ending: string, cause: unknown): ParleyError {
  const message = `The command "${peerName(peer)}" ended before it answered (${ending}). Its own words are on standard error, after "server:". Run it by itself to see why.`;
  return new ParleyError("connection_lost", message, { cause, details: { remedy: "" } });
}

function stdio(command: string, args: readonly string[], onLine: (line: string) => void): Transport {
  const given = Object.entries(process.env).filter(([name, value]) => value !== undefined && name !== MODEL_KEY);
  const env = Object.fromEntries(given);
  const transport = new OneProcess({
    command,
    args: [...args],
    env: env as Record<string, string>,
    stderr: "pipe",
  });
  createInterface({ input: transport.stderr as Readable }).on("line", (line) => onLine(oneLine(`server: ${line}`)));
  return transport;
}
