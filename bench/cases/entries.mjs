// What it costs a request that its call has a journal: 1, 10 and 50 recorded steps, read again before the answer counts.
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";
import { prepare } from "../lib/serving.mjs";

const SIDES = { native: "Parley", mount: "Parley on the SDK", sdk: "SDK by hand", floor: "bare node:http" };
const COUNTS = [1, 10, 50];
const FLIGHT = 32;

export async function run() {
  const rows = [];
  for (const entries of COUNTS) {
    const sides = Object.keys(SIDES).map((side) => [side, [side, { entries }]]);
    await withServers(Object.fromEntries(sides), async (servers) => {
      const { measure, states } = await prepare("entries", servers);
      const found = await measure("answer", FLIGHT, { repeats: 5 });
      for (const [side, { perSecond, cpuUs }] of Object.entries(found)) {
        rows.push({
          server: SIDES[side],
          entries,
          "per second": round(perSecond),
          "x SDK by hand": round(perSecond / found.sdk.perSecond, 2),
          "CPU us": round(cpuUs),
          "characters of state": states[side],
        });
      }
    });
  }
  rows.sort((a, b) => a.server.localeCompare(b.server) || a.entries - b.entries);
  return {
    tables: [{ title: `the second request of a call with n steps before its question, ${FLIGHT} in flight`, rows }],
  };
}
