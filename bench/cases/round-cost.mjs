// What a ledger adds to one round: the same call without one, and with each store, recording rounds or steps.
import { assertSame, interleave, round } from "../lib/measure.mjs";
import { playCall, roundServer, textForm } from "../lib/rounds.mjs";
import { memoryStore, postgresStore, redisStore, sqliteStore, withStores } from "../lib/stores.mjs";

const REPEATS = 15;
const BATCH_MS = 120;
const ROUNDS = 2;

/** Two rounds, a step in each: what most calls are. */
const flow = {
  name: "deploy",
  run: async ({ env }, own) => {
    const plan = await own.step("plan", () => ({ env, services: ["api", "web", "jobs"], note: "x".repeat(150) }));
    const { when } = await own.form("window", { message: `Deploy to ${env}. When?`, schema: textForm("when") });
    const id = await own.step("deploy", () => `${plan.services.length}-${when}`);
    return { content: [{ type: "text", text: id }] };
  },
};

const play = (server) => playCall(server, flow, { env: "prod" }, () => ({ when: "now" }));

/** Wall time and CPU time of this process, in us per round, one call after another. */
async function batch(server) {
  const [begun, cpuBefore] = [performance.now(), process.cpuUsage()];
  let calls = 0;
  while (performance.now() < begun + BATCH_MS) {
    await play(server);
    calls += 1;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const rounds = calls * ROUNDS;
  return { wall: ((performance.now() - begun) * 1_000) / rounds, cpu: (user + system) / rounds };
}

export function run() {
  const makers = { memory: memoryStore, sqlite: sqliteStore, redis: redisStore, postgres: postgresStore };
  return withStores(makers, async (stores) => {
    const servers = { none: roundServer() };
    for (const [name, { ledger: store }] of Object.entries(stores)) {
      for (const record of ["rounds", "steps"])
        servers[`${name}, ${record}`] = roundServer({ ledger: { store, record, journal: "state" } });
    }
    const results = [];
    for (const server of Object.values(servers)) {
      results.push(await play(server));
      await batch(server);
    }
    assertSame("round-cost", { result: results[0].result, rounds: ROUNDS }, ...results);
    const sides = Object.entries(servers).map(([name, server]) => [name, () => batch(server)]);
    const found = await interleave(REPEATS, Object.fromEntries(sides));
    const rows = Object.entries(found).map(([ledger, { wall, cpu }]) => ({
      ledger,
      "us per round": round(wall),
      "added us": round(wall - found.none.wall),
      "CPU us per round": round(cpu),
      "added CPU us": round(cpu - found.none.cpu),
    }));
    return { tables: [{ title: `one round (a step each; ${ROUNDS} rounds a call), one call at a time`, rows }] };
  });
}
