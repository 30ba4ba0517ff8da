// Where the native server's time goes, under the load of the case "request".
import { round } from "../lib/measure.mjs";
import { profileOf, shares } from "../lib/profile.mjs";

const LEGS = { ask: "the first request, %", answer: "the second, %" };

export async function run() {
  const found = {};
  for (const leg of Object.keys(LEGS)) found[leg] = new Map(shares(await profileOf("native", leg)));
  const groups = [...new Set(Object.values(found).flatMap((each) => [...each.keys()]))];
  const rows = groups.map((group) => ({
    "group of functions": group,
    ...Object.fromEntries(
      Object.entries(LEGS).map(([leg, title]) => [title, round(100 * (found[leg].get(group) ?? 0), 1)]),
    ),
  }));
  return { tables: [{ title: "share of the busy time of the native server, 32 in flight", rows }] };
}
