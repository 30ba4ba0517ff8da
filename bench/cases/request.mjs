// One request of a call that asks: ours without and with the SDK's server, by hand on the SDK, and bare node:http.
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";
import { prepare } from "../lib/serving.mjs";

const SIDES = { native: ["native"], mount: ["mount"], sdk: ["sdk"], floor: ["floor"] };
const NAMES = { native: "Parley", mount: "Parley on the SDK", sdk: "SDK by hand", floor: "bare node:http" };
const LEGS = { ask: "the first request, answered with a question", answer: "the second, answered with the result" };

export function run() {
  return withServers(SIDES, async (servers) => {
    const { measure, states } = await prepare("request", servers);
    const tables = [];
    for (const [leg, title] of Object.entries(LEGS)) {
      for (const flight of [1, 32]) {
        const found = await measure(leg, flight);
        const rows = Object.entries(found).map(([side, { perSecond, cpuUs, p50 }]) => ({
          server: NAMES[side],
          "per second": round(perSecond),
          "x SDK by hand": round(perSecond / found.sdk.perSecond, 2),
          "of bare": round(perSecond / found.floor.perSecond, 2),
          "CPU us": round(cpuUs),
          "CPU x by hand": round(cpuUs / found.sdk.cpuUs, 2),
          "p50 us": round(p50),
          "p50 x by hand": round(p50 / found.sdk.p50, 2),
        }));
        tables.push({ title: `${title}; ${flight} in flight`, rows });
      }
    }
    const lengths = Object.entries(states).map(([side, length]) => ({
      server: NAMES[side],
      "characters of state": length,
    }));
    return { tables: [...tables, { title: "what travels between the two", rows: lengths }] };
  });
}
