// From the start of a process to its first answer.
import { TOOL } from "../http/work.mjs";
import { once } from "../lib/load.mjs";
import { interleave, round } from "../lib/measure.mjs";
import { startServer } from "../lib/servers.mjs";

const SIDES = { native: "Parley", mount: "Parley on the SDK", sdk: "SDK by hand", floor: "bare node:http" };
const REPEATS = 7;

async function firstAnswer(side) {
  const begun = performance.now();
  const server = await startServer(side);
  await once(server.port, { name: TOOL, arguments: { env: "prod" } });
  const ms = performance.now() - begun;
  const cpuMs = (await server.cpuUs()) / 1_000;
  await server.stop();
  return { ms, cpuMs };
}

export async function run() {
  const sides = Object.keys(SIDES).map((side) => [side, () => firstAnswer(side)]);
  const found = await interleave(REPEATS, Object.fromEntries(sides));
  const rows = Object.entries(found).map(([side, { ms, cpuMs }]) => ({
    server: SIDES[side],
    ms: round(ms),
    "x SDK by hand": round(ms / found.sdk.ms, 2),
    "CPU ms": round(cpuMs),
  }));
  return { tables: [{ title: "process start to first answer", rows }] };
}
