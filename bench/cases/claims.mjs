// Claims and settles per second of each store, at 1 and 32 in flight, beside the bare client command.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { assertSame, interleave, rate, round } from "../lib/measure.mjs";
import { memoryStore, postgresStore, redisStore, sqliteStore } from "../lib/stores.mjs";

const REPEATS = 7;
const BATCH_MS = 120;
const FLIGHTS = [1, 32];
const KEEP_MS = 600_000;
const LEASE_MS = 30_000;
/** Rounds that one call has here: a claim is seldom the first of its call. */
const ROUNDS = 4;
const ANSWERS = "a".repeat(32);
const OUTCOME = Buffer.alloc(512, 7);

let serial = 0;
/** A round that nobody has claimed. */
function next() {
  serial += 1;
  return { call: `call-${Math.floor(serial / ROUNDS)}`, round: serial % ROUNDS, owner: `owner-${serial}` };
}

/**
 * A side claims a round (`true`: it is ours) and settles it (`true`: it was still ours). The request is written out as
 * the server writes it: to spread two objects into it takes up to 3 us, which is no part of a claim.
 */
function ledgerSide(ledger) {
  return {
    claim: async ({ call, round, owner }) => {
      const claim = await ledger.claim({
        call,
        round,
        owner,
        answers: ANSWERS,
        leaseMs: LEASE_MS,
        keepMs: KEEP_MS,
        wantJournal: false,
      });
      return claim.type === "won";
    },
    settle: (hold) => ledger.settle(hold, { outcome: OUTCOME, keepMs: KEEP_MS }),
  };
}

/** The same row, inserted and updated by prepared statements, each its own transaction. */
function sqliteBare(database) {
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  database.exec(
    "CREATE TABLE bare (call TEXT, round INTEGER, answers TEXT, owner TEXT, lease INTEGER, expires INTEGER, outcome BLOB, PRIMARY KEY (call, round))",
  );
  const insert = database.prepare("INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING");
  const update = database.prepare("UPDATE bare SET outcome = ? WHERE call = ? AND round = ? AND owner = ?");
  return {
    claim: async ({ call, round, owner }) =>
      insert.run(call, round, ANSWERS, owner, Date.now() + LEASE_MS, Date.now() + KEEP_MS).changes === 1,
    settle: async ({ call, round, owner }) => update.run(OUTCOME, call, round, owner).changes === 1,
  };
}

/** SET NX PX, and SET XX PX: less than a claim, which has a lease and answers who holds the round. */
function redisBare(client, prefix) {
  const value = `${ANSWERS}:${randomUUID()}`;
  const key = ({ call, round }) => `${prefix}bare:${call}:${round}`;
  return {
    claim: async (hold) => (await client.set(key(hold), value, "PX", KEEP_MS, "NX")) === "OK",
    settle: async (hold) => (await client.set(key(hold), OUTCOME, "PX", KEEP_MS, "XX")) === "OK",
  };
}

/** The least script that goes by the server's clock: what any script costs, whatever it does. */
async function redisScript(client, prefix) {
  const least = (word) => `redis.call('TIME') return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], '${word}')`;
  const [claim, settle] = [await client.script("LOAD", least("NX")), await client.script("LOAD", least("XX"))];
  const value = `${ANSWERS}:${randomUUID()}`;
  const key = ({ call, round }) => `${prefix}script:${call}:${round}`;
  return {
    claim: async (hold) => (await client.evalsha(claim, 1, key(hold), value, KEEP_MS)) === "OK",
    settle: async (hold) => (await client.evalsha(settle, 1, key(hold), OUTCOME, KEEP_MS)) === "OK",
  };
}

/** INSERT ... ON CONFLICT DO NOTHING of the same row, and an UPDATE of it, prepared, through the same pool. */
async function postgresBare(pool, schema) {
  await pool.query(
    `CREATE TABLE ${schema}.bare (call text, round int, answers text, owner text, lease timestamptz, expires timestamptz, outcome bytea, PRIMARY KEY (call, round))`,
  );
  const insert = `INSERT INTO ${schema}.bare VALUES ($1, $2, $3, $4, now() + $5 * interval '1 ms', now() + $6 * interval '1 ms', NULL) ON CONFLICT DO NOTHING`;
  const update = `UPDATE ${schema}.bare SET outcome = $1 WHERE call = $2 AND round = $3 AND owner = $4`;
  const changedOne = async (name, text, values) => (await pool.query({ name, text, values })).rowCount === 1;
  return {
    claim: ({ call, round, owner }) =>
      changedOne("bare_claim", insert, [call, round, ANSWERS, owner, LEASE_MS, KEEP_MS]),
    settle: ({ call, round, owner }) => changedOne("bare_settle", update, [OUTCOME, call, round, owner]),
  };
}

/** A round is won once and can then be settled; on every side. */
async function check(store, sides) {
  const seen = [];
  for (const side of Object.values(sides)) {
    const hold = next();
    const other = { ...hold, owner: "another" };
    seen.push([await side.claim(hold), await side.claim(other), await side.settle(hold)]);
  }
  assertSame(`claims, ${store}`, [true, false, true], ...seen);
}

async function measure(store, sides, tables) {
  await check(store, sides);
  const yes = (said) => {
    if (said !== true) throw new Error(`${store}: a round was not ours`);
  };
  const work = {
    claim: (side) => async () => yes(await side.claim(next())),
    "claim + settle": (side) => async () => {
      const hold = next();
      yes(await side.claim(hold));
      yes(await side.settle(hold));
    },
  };
  for (const side of Object.values(sides)) await rate(8, 200, work["claim + settle"](side));
  for (const [table, { rows }] of Object.entries(tables)) {
    for (const flight of FLIGHTS) {
      const batches = Object.entries(sides).map(([name, side]) => [
        name,
        () => rate(flight, BATCH_MS, work[table](side)),
      ]);
      const { parley, bare, script } = await interleave(REPEATS, Object.fromEntries(batches));
      rows.push({
        store,
        "in flight": flight,
        parley: round(parley.perSecond),
        bare: bare && round(bare.perSecond),
        "parley/bare": bare && ratio(parley, bare),
        "least script": script && round(script.perSecond),
        "parley/script": script && ratio(parley, script),
        "CPU us": round(parley.cpuUs, 1),
        "bare CPU us": bare && round(bare.cpuUs, 1),
      });
    }
  }
}

function ratio(ours, theirs) {
  return round(ours.perSecond / theirs.perSecond, 2);
}

export async function run() {
  const tables = {
    claim: { title: "claims per second", rows: [] },
    "claim + settle": { title: "claim + settle pairs per second", rows: [] },
  };
  await using(memoryStore(), ({ ledger }) => measure("memory", { parley: ledgerSide(ledger) }, tables));
  await using(sqliteStore(), async ({ ledger, folder }) => {
    const database = new Database(join(folder, "bare.sqlite"));
    await measure("sqlite", { parley: ledgerSide(ledger), bare: sqliteBare(database) }, tables);
    database.close();
  });
  await using(await redisStore(), async ({ ledger, client, prefix }) => {
    const [bare, script] = [redisBare(client, prefix), await redisScript(client, prefix)];
    await measure("redis", { parley: ledgerSide(ledger), bare, script }, tables);
  });
  await using(await postgresStore(), async ({ ledger, pool, schema }) => {
    const bare = await postgresBare(pool, schema);
    await measure("postgres", { parley: ledgerSide(ledger), bare }, tables);
  });
  return { tables: Object.values(tables) };
}

async function using(store, work) {
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
