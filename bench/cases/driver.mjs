// What a call of two rounds costs the client: our driver beside the SDK client's own way, over both transports.
import { compareCalls, withCallers } from "../lib/calling.mjs";
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";

const SDK = "SDK client, its transport";

export function run() {
  return withServers({ floor: ["floor"] }, ({ floor }) => {
    const sides = {
      "driver, lean transport": { client: "driver", transport: "lean", url: floor.url },
      "driver, SDK's transport": { client: "driver", transport: "sdk", url: floor.url },
      "SDK client, lean transport": { client: "automatic", transport: "lean", url: floor.url },
      [SDK]: { client: "automatic", transport: "sdk", url: floor.url },
    };
    return withCallers(sides, async (callers) => {
      const tables = [];
      for (const flight of [32, 1]) {
        const found = await compareCalls("driver", callers, flight, { repeats: 7, ms: 300 });
        const rows = Object.entries(found).map(([client, { perSecond, cpuUs }]) => ({
          client,
          "calls per second": round(perSecond),
          "x SDK": round(perSecond / found[SDK].perSecond, 2),
          "CPU us": round(cpuUs),
          "CPU x SDK": round(cpuUs / found[SDK].cpuUs, 2),
        }));
        tables.push({ title: `a call of two rounds to a bare server; ${flight} in flight`, rows });
      }
      return { tables };
    });
  });
}
