// A whole call of two rounds: our half and the SDK's, on either side of the wire.
import { compareCalls, withCallers } from "../lib/calling.mjs";
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";

const NOTHING_OURS = "SDK client, SDK server by hand";

export function run() {
  return withServers({ native: ["native"], sdk: ["sdk"] }, ({ native, sdk }) => {
    const sides = {
      "driver over lean transport, Parley": { client: "driver", transport: "lean", url: native.url },
      "driver over lean transport, SDK server by hand": { client: "driver", transport: "lean", url: sdk.url },
      "SDK client, Parley": { client: "automatic", transport: "sdk", url: native.url },
      [NOTHING_OURS]: { client: "automatic", transport: "sdk", url: sdk.url },
    };
    return withCallers(sides, async (callers) => {
      const tables = [];
      for (const flight of [32, 1]) {
        const found = await compareCalls("two-round", callers, flight, { repeats: 7, ms: 400 });
        const rows = Object.entries(found).map(([pair, { perSecond }]) => ({
          "client, server": pair,
          "calls per second": round(perSecond),
          "x nothing of ours": round(perSecond / found[NOTHING_OURS].perSecond, 2),
        }));
        tables.push({ title: `a call of two rounds; ${flight} in flight`, rows });
      }
      return { tables };
    });
  });
}
