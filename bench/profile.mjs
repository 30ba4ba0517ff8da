// node bench/profile.mjs [--side native|mount|sdk|floor] [--leg ask|answer] [--hottest N]: where a server's time goes.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { round } from "./lib/measure.mjs";
import { hottest, shares } from "./lib/profile.mjs";
import { printTable } from "./lib/report.mjs";
import { withServers } from "./lib/servers.mjs";
import { prepare } from "./lib/serving.mjs";

const MS = 4_000;
const FLIGHT = 32;

/** Runs one server under load, and its profile once it is warm. */
export function profile(side, leg) {
  return withServers({ one: [side] }, async (servers) => {
    const { measure } = await prepare("profile", servers);
    await measure(leg, FLIGHT, { repeats: 1, ms: 500 });
    await servers.one.startProfile();
    await measure(leg, FLIGHT, { repeats: 1, ms: MS });
    return servers.one.stopProfile();
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { side: { type: "string" }, leg: { type: "string" }, hottest: { type: "string" } };
  const { side = "native", leg = "ask", hottest: count } = parseArgs({ options }).values;
  const found = await profile(side, leg);
  const percent = ([what, share]) => ({ what, "% of busy time": round(100 * share, 1) });
  printTable({ title: `${side}, ${leg}, ${FLIGHT} in flight`, rows: shares(found).map(percent) });
  if (count !== undefined) printTable({ title: "functions", rows: hottest(found, Number(count)).map(percent) });
}
