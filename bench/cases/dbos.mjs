// One human answer between two steps: the PostgreSQL ledger beside DBOS, on the same PostgreSQL, in processes of their own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { assertSame, interleave, round } from "../lib/measure.mjs";
import { Missing, newName, POSTGRES_URL, reach } from "../lib/stores.mjs";

const REPEATS = 5;
const BATCH_MS = 400;
const FLIGHTS = [1, 8, 32];
const WARM = 160;
/** Commits are counted over the difference, so that starting and stopping cancel out. */
const COUNTED = { few: 8, many: 48 };
/** Kinds of flow: by name, the process that runs it and its name there. */
const KINDS = {
  "parley, steps recorded": ["parley", "steps"],
  "parley, rounds recorded": ["parley", "rounds"],
  "dbos, question shown": ["dbos", "asked"],
  "dbos, answer only": ["dbos", "plain"],
  "the two rows alone": ["parley", "floor"],
};
const PEER = new URL("../dbos/node_modules/@dbos-inc/dbos-sdk/package.json", import.meta.url);

/** A process for one side. `run` makes `count` flows and gives `{ ms, cpuMs }`. */
async function start(side, database) {
  const url = new URL(POSTGRES_URL);
  url.pathname = database;
  const child = fork(fileURLToPath(new URL(`../dbos/${side}.mjs`, import.meta.url)), {
    env: { ...process.env, BENCH_DATABASE: url.href, NODE_ENV: "production" },
    // DBOS 5.3 uses a client of pg in a way that pg deprecates.
    execArgv: ["--no-deprecation"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const told = () =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`${side} ended`));
      child.once("exit", onExit);
      child.once("message", (message) => {
        child.off("exit", onExit);
        if (message.error) reject(new Error(`${side}: ${message.error}`));
        else resolve(message);
      });
    });
  await told();
  return {
    async run(request) {
      child.send(request);
      return told();
    },
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** Work done while one process per side runs. */
async function withSides(databases, work) {
  const sides = {};
  try {
    for (const [side, database] of Object.entries(databases)) sides[side] = await start(side, database);
    return await work(sides);
  } finally {
    for (const side of Object.values(sides)) await side.stop();
  }
}

/** Flows per second and CPU ms per flow of every kind, at one number in flight; the same number of flows on all. */
async function speeds(sides, flight) {
  const took = [];
  for (const [side, kind] of Object.values(KINDS)) {
    took.push((await sides[side].run({ kind, batch: `try${flight}`, count: 2 * flight, flight })).ms);
  }
  const count = Math.max(1, Math.round((2 * BATCH_MS) / Math.max(...took))) * flight;
  const batches = Object.entries(KINDS).map(([name, [side, kind]]) => {
    let batch = 0;
    const run = async () => {
      const { ms, cpuMs } = await sides[side].run({ kind, batch: `${flight}.${batch++}`, count, flight });
      return { perSecond: count / (ms / 1_000), cpuMs: cpuMs / count };
    };
    return [name, run];
  });
  return { count: count * REPEATS, found: await interleave(REPEATS, Object.fromEntries(batches)) };
}

/** Commits per flow. A backend reports what it did when it ends, so each count is the life of a process. */
async function commits(admin, name, databases) {
  const [side, kind] = KINDS[name];
  const life = async (count) => {
    const before = await committed(admin, databases[side]);
    await withSides({ [side]: databases[side] }, (sides) =>
      sides[side].run({ kind, batch: `counted${count}`, count, flight: 8 }),
    );
    return (await committed(admin, databases[side])) - before;
  };
  const few = await life(COUNTED.few);
  return ((await life(COUNTED.many)) - few) / (COUNTED.many - COUNTED.few);
}

async function committed(admin, database) {
  for (;;) {
    const { rows } = await admin.query(
      "SELECT xact_commit, (SELECT count(*) FROM pg_stat_activity WHERE datname = $1) AS backends FROM pg_stat_database WHERE datname = $1",
      [database],
    );
    if (Number(rows[0].backends) === 0) return Number(rows[0].xact_commit);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Every kind must have left the same rows: two for each flow, the second with its answer. */
async function check(databases) {
  const left = {};
  for (const database of Object.values(databases)) {
    await inDatabase(database, async (client) => {
      const { rows } = await client.query("SELECT flow, step, answer FROM public.effects ORDER BY flow, step");
      for (const { flow, step, answer } of rows) {
        const [kind, id] = [flow.slice(0, flow.indexOf("-")), flow.slice(flow.indexOf("-") + 1)];
        left[kind] ??= [];
        left[kind].push([id, step, answer?.replace(flow, id) ?? null]);
      }
    });
  }
  assertSame("rows of all flows", ...Object.values(left));
  return Object.values(left)[0].length;
}

async function inDatabase(database, work) {
  const url = new URL(POSTGRES_URL);
  url.pathname = database;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function run() {
  if (!existsSync(PEER)) throw new Missing("DBOS is not installed: npm ci --prefix bench/dbos --ignore-scripts");
  const admin = new pg.Client({ connectionString: POSTGRES_URL });
  await reach(`PostgreSQL at ${POSTGRES_URL}`, () => admin.connect());
  const name = newName();
  const databases = { parley: `${name}_parley`, dbos: `${name}_dbos` };
  try {
    for (const database of Object.values(databases)) {
      await admin.query(`CREATE DATABASE ${database}`);
      await inDatabase(database, (client) =>
        client.query("CREATE TABLE public.effects (flow text, step text, answer text, PRIMARY KEY (flow, step))"),
      );
    }
    return await measure(admin, databases);
  } finally {
    for (const database of Object.values(databases))
      await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
  }
}

async function measure(admin, databases) {
  const tables = await withSides(databases, async (sides) => {
    const [speed, cpu] = [[], []];
    // Code that has run a few times only is slow on every side.
    for (const [side, kind] of Object.values(KINDS))
      await sides[side].run({ kind, batch: "warm", count: WARM, flight: 8 });
    for (const flight of FLIGHTS) {
      const { count, found } = await speeds(sides, flight);
      speed.push(besides({ "in flight": flight, "flows each": count }, found, ({ perSecond }) => perSecond));
      cpu.push(besides({ "in flight": flight }, found, ({ cpuMs }) => cpuMs));
    }
    return [
      { title: "flows per second (step, answer of a person, step)", rows: speed },
      { title: "CPU ms per flow of the process that runs it (PostgreSQL's own is not in it)", rows: cpu },
    ];
  });
  const counted = [];
  for (const flow of Object.keys(KINDS)) {
    counted.push({ flow, "commits per flow": round(await commits(admin, flow, databases), 1) });
  }
  const rows = await check(databases);
  tables.push({ title: `commits of the database per flow; all kinds left the same ${rows} rows`, rows: counted });
  const { version } = JSON.parse(readFileSync(PEER, "utf8"));
  const { rows: shown } = await admin.query("SHOW server_version");
  return { versions: { "@dbos-inc/dbos-sdk": version, postgresql: shown[0].server_version.split(" ")[0] }, tables };
}

function besides(head, found, pick) {
  const figures = Object.entries(found).map(([kind, each]) => [kind, round(pick(each), 1)]);
  const ratio = (kind) => round(pick(found["parley, steps recorded"]) / pick(found[kind]), 2);
  return {
    ...head,
    ...Object.fromEntries(figures),
    "parley steps / dbos shown": ratio("dbos, question shown"),
    "parley steps / dbos answer": ratio("dbos, answer only"),
  };
}
