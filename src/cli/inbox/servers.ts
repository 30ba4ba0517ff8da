/** `--server name=url|command` and the headers that go with a URL. */

import { type Peer, readHeaders, readUrl } from "../call/peer.ts";
import { usageError } from "../exit.ts";

const SERVER_REMEDY = 'write --server name=http://..., or --server "name=command args"';
const HEADER_REMEDY = 'write --header "name=Header: value", with the name of a --server that has a URL';

/**
 * By name, in the order given.
 * @throws ParleyError `usage` that names the flag, and never repeats a header's value.
 */
export function readServers(servers: readonly string[], headers: readonly string[]): ReadonlyMap<string, Peer> {
  if (servers.length === 0) throw usageError("--server is missing", SERVER_REMEDY);
  const lines = new Map<string, string[]>();
  for (const [at, header] of headers.entries()) {
    const [name, line] = splitPair(header) ?? [];
    if (name === undefined || line === undefined)
      throw usageError(`--header number ${at + 1} names no server`, HEADER_REMEDY);
    lines.set(name, [...(lines.get(name) ?? []), line]);
  }
  const peers = new Map<string, Peer>();
  for (const text of servers) {
    const [name, where] = splitPair(text) ?? [];
    if (name === undefined || where === undefined || where === "")
      throw usageError(`--server ${text} is not name=url or name=command`, SERVER_REMEDY);
    if (peers.has(name)) throw usageError(`--server ${name} is given twice`, "give each server its own name");
    peers.set(name, readServer(where, lines.get(name) ?? []));
  }
  for (const name of lines.keys()) {
    if (peers.get(name)?.kind !== "url")
      throw usageError(`--header names ${JSON.stringify(name)}, which is no server with a URL`, HEADER_REMEDY);
  }
  return peers;
}

function readServer(where: string, headers: readonly string[]): Peer {
  if (/^https?:/i.test(where))
    return { kind: "url", url: readUrl(where, SERVER_REMEDY), headers: readHeaders(headers) };
  const [command, ...args] = words(where);
  if (command === undefined) throw usageError("--server has an empty command", SERVER_REMEDY);
  return { kind: "command", command, args };
}

/** A name has neither "=" nor ":", so that `--start name:tool` can be told apart. */
function splitPair(text: string): [string, string] | undefined {
  const [, name, rest] = /^([^=:\s][^=:]*)=(.*)$/s.exec(text) ?? [];
  return name === undefined || rest === undefined ? undefined : [name.trim(), rest.trim()];
}

/** Words as a shell takes them apart, with quotes and nothing else. No shell is involved (E20). */
function words(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? "",
  );
}
