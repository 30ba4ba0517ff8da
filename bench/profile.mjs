// node bench/profile.mjs [--side native|mount|sdk|floor] [--leg ask|answer] [--hottest N]: where a server's time goes.
import { parseArgs } from "node:util";
import { round } from "./lib/measure.mjs";
import { hottest, profileOf, shares } from "./lib/profile.mjs";
import { printTable } from "./lib/report.mjs";

const options = { side: { type: "string" }, leg: { type: "string" }, hottest: { type: "string" } };
const { side = "native", leg = "ask", hottest: count } = parseArgs({ options }).values;
const profile = await profileOf(side, leg);
const percent = ([what, share]) => ({ what, "% of busy time": round(100 * share, 1) });
printTable({ title: `${side}, ${leg}`, rows: shares(profile).map(percent) });
if (count !== undefined) printTable({ title: "functions", rows: hottest(profile, Number(count)).map(percent) });
