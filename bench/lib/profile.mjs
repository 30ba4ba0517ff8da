// What a CPU profile says of where the time goes, by groups of functions.
import { withServers } from "./servers.mjs";
import { prepare } from "./serving.mjs";

const MS = 3_000;
const FLIGHT = 32;

/** Runs a server under load, and takes its CPU profile once it is warm. */
export function profileOf(side, leg) {
  return withServers({ one: [side] }, async ({ one }) => {
    const { measure } = await prepare("profile", { one });
    await measure(leg, FLIGHT, { repeats: 1, ms: 500 });
    await one.startProfile();
    await measure(leg, FLIGHT, { repeats: 1, ms: MS });
    return one.stopProfile();
  });
}

const GROUPS = [
  ["garbage collector", ({ name }) => name === "(garbage collector)"],
  // V8 counts JSON.parse and JSON.stringify for who calls them.
  ["Parley: reading and writing JSON", ({ url }) => /\/dist\/server\/native\/(message|result|answer)\.js$/.test(url)],
  [
    "the SDK",
    ({ url }) => url.includes("/@modelcontextprotocol/") || url.includes("/@hono/") || url.includes("/hono/"),
  ],
  ["schema library", ({ url }) => /\/node_modules\/(zod|ajv|@cfworker)/.test(url)],
  ["Parley: state (seal, open, digest)", ({ url }) => url.includes("/dist/state/") || url.includes("/canonicalize/")],
  ["Parley: flows (engine, journal)", ({ url }) => /\/dist\/(replay|flow|journal|protocol|internal)\//.test(url)],
  ["Parley: serving", ({ url }) => url.includes("/dist/server/")],
  ["node: crypto", ({ url }) => url.startsWith("node:internal/crypto") || url === "node:crypto"],
  ["node: web streams, fetch objects", ({ url }) => /^node:internal\/(deps\/undici|webstreams|url|blob)/.test(url)],
  ["node: http, sockets, streams", ({ url }) => url.startsWith("node:")],
  ["the flow itself", ({ url }) => url.includes("/bench/http/")],
];
const IDLE = new Set(["(idle)", "(root)"]);

/**
 * Time of each group as a share of the time that the processor was busy; a builtin without a file counts for its caller.
 * @param profile what `node --cpu-prof` wrote, read.
 */
export function shares({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const groups = new Map();
  assign(byId.get(nodes[0].id), "node: native code", byId, groups);
  const spent = new Map();
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const name = byId.get(id).callFrame.functionName;
    if (IDLE.has(name)) continue;
    busy += timeDeltas[at];
    const group = groups.get(id);
    spent.set(group, (spent.get(group) ?? 0) + timeDeltas[at]);
  }
  return [...spent].map(([group, us]) => [group, us / busy]).toSorted(([, a], [, b]) => b - a);
}

function assign(node, inherited, byId, groups) {
  const { functionName: name, url } = node.callFrame;
  const found = GROUPS.find(([, holds]) => holds({ name, url }))?.[0];
  const group = found ?? (url === "" && name !== "(program)" ? inherited : "node: native code");
  groups.set(node.id, group);
  for (const child of node.children ?? []) assign(byId.get(child), group, byId, groups);
}

/** The functions that took most time themselves. */
export function hottest({ nodes, samples, timeDeltas }, count) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const spent = new Map();
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const { functionName, url, lineNumber } = byId.get(id).callFrame;
    if (IDLE.has(functionName)) continue;
    busy += timeDeltas[at];
    const place = `${functionName || "(anonymous)"} ${url.replace(/^.*\/(node_modules|dist|bench)\//, "$1/")}:${lineNumber + 1}`;
    spent.set(place, (spent.get(place) ?? 0) + timeDeltas[at]);
  }
  return [...spent]
    .map(([place, us]) => [place, us / busy])
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count);
}
