// What is left on a server of calls that wait and never come back.
import { TOOL } from "../http/work.mjs";
import { callOf, drive } from "../lib/load.mjs";
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";

const SIDES = { native: "Parley", mount: "Parley on the SDK", sdk: "SDK by hand", floor: "bare node:http" };
const CALLS = 10_000;
const KIB = 1024;

/** Asks at least `count` times, and answers never. */
async function abandon(server, count) {
  const request = callOf({ name: TOOL, arguments: { env: "prod" } });
  for (let done = 0; done < count; ) done += (await drive(server, request, 32, 500)).requests;
}

export function run() {
  return withServers(Object.fromEntries(Object.keys(SIDES).map((side) => [side, [side]])), async (servers) => {
    const rows = [];
    for (const [side, server] of Object.entries(SIDES)) {
      // Some beforehand: compiled code, and pools that grow to their size once.
      await abandon(servers[side], CALLS / 4);
      const before = await servers[side].memory();
      await abandon(servers[side], CALLS);
      const after = await servers[side].memory();
      rows.push({
        server,
        "heap before, KiB": round(before.heapUsed / KIB),
        "heap after, KiB": round(after.heapUsed / KIB),
        "bytes per call": round((after.heapUsed - before.heapUsed) / CALLS, 1),
        "RSS before, MiB": round(before.rss / KIB / KIB),
        "RSS after, MiB": round(after.rss / KIB / KIB),
      });
    }
    return {
      tables: [{ title: `memory before and after ${CALLS} calls that are left waiting, after collection`, rows }],
    };
  });
}
