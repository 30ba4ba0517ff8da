// What it costs a request that a server has many tools: 2 beside 102.
import { round } from "../lib/measure.mjs";
import { withServers } from "../lib/servers.mjs";
import { prepare } from "../lib/serving.mjs";

const SIDES = { native: "Parley", mount: "Parley on the SDK", sdk: "SDK by hand" };
const COUNTS = [2, 102];
const FLIGHT = 32;

export function run() {
  const sides = Object.keys(SIDES).flatMap((side) => COUNTS.map((tools) => [`${side} ${tools}`, [side, { tools }]]));
  return withServers(Object.fromEntries(sides), async (servers) => {
    const { measure } = await prepare("tools", servers);
    const found = await measure("ask", FLIGHT);
    const rows = Object.entries(SIDES).map(([side, server]) => {
      const [few, many] = COUNTS.map((tools) => found[`${side} ${tools}`]);
      return {
        server,
        "2 tools, per second": round(few.perSecond),
        "102 tools, per second": round(many.perSecond),
        "lost %": round(100 * (1 - many.perSecond / few.perSecond), 1),
        "2 tools, CPU us": round(few.cpuUs),
        "102 tools, CPU us": round(many.cpuUs),
        "more CPU %": round(100 * (many.cpuUs / few.cpuUs - 1), 1),
      };
    });
    return { tables: [{ title: `the first request of a call, ${FLIGHT} in flight`, rows }] };
  });
}
