import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClaimRequest } from "../../src/ledger/contract.ts";
import { postgresLedger } from "../../src/ledger/postgres.ts";
import { bytes, fresh, other, testLedger } from "./ledger-suite.ts";
import { POSTGRES_URL, whenReachable } from "./servers.ts";

const run = await whenReachable(`PostgreSQL at ${POSTGRES_URL}`, async () => {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
  await client.connect();
  await client.end();
});

const newSchema = () => `parley_test_${randomUUID().replaceAll("-", "")}`;

function newPool(options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, ...options });
  pool.on("error", () => {});
  return pool;
}

testLedger(
  "postgres",
  async () => {
    const schema = newSchema();
    const pools = [newPool({ max: 4 }), newPool({ max: 4 }), newPool({ max: 1 })];
    let next = 0;
    return {
      open: () => postgresLedger(pools[next++ % 2] as pg.Pool, { schema }),
      calls: async () => {
        const { rows } = await (pools[2] as pg.Pool).query(
          `SELECT COUNT(DISTINCT call)::int AS count FROM ${schema}.parley_rounds`,
        );
        return rows[0].count as number;
      },
      end: async () => {
        await (pools[2] as pg.Pool).query(`DROP SCHEMA ${schema} CASCADE`);
        for (const pool of pools) await pool.end();
      },
    };
  },
  run,
);

run("postgres ledger", () => {
  const schemas: string[] = [];
  const schemaOfTest = () => {
    const schema = newSchema();
    schemas.push(schema);
    return schema;
  };
  let admin: pg.Pool;
  beforeAll(() => {
    admin = newPool({ max: 2 });
  });
  afterAll(async () => {
    for (const schema of schemas) await admin.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await admin.end();
  });

  it("eight pools at once on an empty database make one schema", async () => {
    const schema = schemaOfTest();
    const ledgers = Array.from({ length: 8 }, () =>
      postgresLedger({ connectionString: POSTGRES_URL, max: 2 }, { schema }),
    );
    const request = fresh();
    const claims = await Promise.all(
      ledgers.flatMap((ledger) => [ledger.claim(other(request)), ledger.claim(other(request))]),
    );
    expect(claims.filter((claim) => claim.type === "won")).toHaveLength(1);
    const { rows } = await admin.query(`SELECT name, value FROM ${schema}.parley_meta`);
    expect(rows).toEqual([{ name: "schema", value: 1 }]);
    for (const ledger of ledgers) await ledger.close();
  });

  it("waits for a running round without writing", async () => {
    const schema = schemaOfTest();
    const pool = newPool({ max: 1 });
    const ledger = postgresLedger(pool, { schema });
    const request = fresh();
    await ledger.claim(request);
    const xid = async () =>
      (await pool.query("SELECT pg_current_xact_id_if_assigned()::text AS xid")).rows[0].xid as string | null;
    await pool.query("BEGIN");
    expect((await ledger.claim(other(request))).type).toBe("running");
    expect(await xid()).toBeNull();
    await ledger.renew(request, 60_000);
    expect(await xid(), "the check can fail").not.toBeNull();
    await pool.query("COMMIT");
    await ledger.close();
    await pool.end();
  });

  it("an expired round is nobody's: taken anew once, without its steps and outcome, and its journal is not given", async () => {
    const schema = schemaOfTest();
    const ledger = postgresLedger(admin, { schema });
    const request = fresh();
    await ledger.claim(request);
    await ledger.recordStep(request, bytes("old"), 60_000);
    await ledger.recordStep(request, new Uint8Array(2_000), 60_000);
    await ledger.settle(request, { outcome: bytes("old"), journal: bytes("old"), keepMs: 60_000 });
    await admin.query(`UPDATE ${schema}.parley_rounds SET expires_at = now()`);
    const next = other(request, { round: 1, wantJournal: true });
    expect(await ledger.claim(next)).toEqual({ type: "won", attempt: 1, steps: [], journal: [] });
    const claims = await Promise.all(
      Array.from({ length: 20 }, () => ledger.claim(other(request, { answers: "others" }))),
    );
    expect(claims.filter((claim) => claim.type === "won")).toEqual([
      { type: "won", attempt: 1, steps: [], journal: [] },
    ]);
    const { rows } = await admin.query(`SELECT COUNT(*)::int AS count FROM ${schema}.parley_more_steps`);
    expect(rows[0].count).toBe(0);
  });

  it("what settles, steps or prolongs one round keeps all of its call, those that have expired excepted", async () => {
    const schema = schemaOfTest();
    const ledger = postgresLedger(admin, { schema });
    const left = async (call: string) => {
      const { rows } = await admin.query(
        `SELECT extract(epoch FROM expires_at - now())::float8 AS left FROM ${schema}.parley_rounds WHERE call = $1 ORDER BY round`,
        [call],
      );
      return rows.map((row) => (row.left > 100 ? "long" : row.left > 0 ? "short" : "over"));
    };
    for (const prolong of [
      (hold: ClaimRequest) => ledger.settle(hold, { outcome: bytes("o"), keepMs: 200_000 }),
      (hold: ClaimRequest) => ledger.recordStep(hold, bytes("s"), 200_000),
      (hold: ClaimRequest) => ledger.renew(hold, 200_000),
    ]) {
      const rounds = [0, 1, 2, 3].map((round) => fresh({ call: `prolonged ${schemas.length} ${prolong}`, round }));
      for (const request of rounds) await ledger.claim(request);
      const [first, , third] = rounds as [ClaimRequest, ClaimRequest, ClaimRequest];
      await admin.query(`UPDATE ${schema}.parley_rounds SET expires_at = now() WHERE call = $1 AND round = 1`, [
        first.call,
      ]);
      expect(await left(first.call)).toEqual(["short", "over", "short", "short"]);
      expect(await prolong(third)).toBe(true);
      expect(await left(first.call)).toEqual(["long", "over", "long", "long"]);
    }
  });

  it.each([
    ["many small ones first", [10, 400, 900, 10, 3_000, 10, 0, 900]],
    ["a large one early", [10, 3_000, 10, 0, 900]],
  ])("keeps the order of steps over those in the row and those beside it: %s", async (_, sizes) => {
    const ledger = postgresLedger(admin, { schema: schemaOfTest() });
    const request = fresh();
    await ledger.claim(request);
    for (const [index, size] of sizes.entries())
      expect(await ledger.recordStep(request, new Uint8Array(size).fill(index), 60_000)).toBe(true);
    const claim = await ledger.claim(request);
    expect(claim.type === "won" && claim.steps.map((step) => [step.length, step[0]])).toEqual(
      sizes.map((size, index) => [size, size === 0 ? undefined : index]),
    );
  });

  it("settles of one call that prolong each other's rounds, while new ones are claimed, do not deadlock", async () => {
    const pool = newPool({ max: 12 });
    const ledger = postgresLedger(pool, { schema: schemaOfTest() });
    for (let turn = 1; turn <= 30; turn++) {
      const rounds = Array.from({ length: 12 }, (_, round) => fresh({ call: `turn ${turn}`, round, keepMs: 1_000 }));
      const settle = (request: ClaimRequest) =>
        ledger.settle(request, { outcome: bytes("o"), keepMs: 60_000 * (1 + ((request.round * 5) % 12)) });
      const early = rounds.filter(({ round }) => round % 3 > 0);
      for (const request of early) await ledger.claim(request);
      const late = rounds.filter(({ round }) => round % 3 === 0);
      const settled = [
        ...early.map(settle),
        ...late.map((request) => ledger.claim(request).then(() => settle(request))),
      ];
      expect(await Promise.all(settled)).toEqual(rounds.map(() => true));
    }
    await ledger.close();
    await pool.end();
  });

  it("what comes at once shares commits, and each still has its own answer", async () => {
    const schema = schemaOfTest();
    const ledger = postgresLedger(admin, { schema });
    const requests = Array.from({ length: 64 }, (_, index) =>
      fresh({ call: `together ${index >> 2}`, round: index % 4 }),
    );
    for (const request of requests.slice(0, 10)) await ledger.claim(request);
    const commits = async () => {
      const { rows } = await admin.query(
        `SELECT COUNT(DISTINCT xmin::text)::int AS count FROM ${schema}.parley_rounds`,
      );
      return rows[0].count as number;
    };
    expect(await commits(), "the check can fail").toBe(10);
    const claims = await Promise.all(requests.map((request) => ledger.claim(other(request))));
    expect(claims.map(({ type }) => type)).toEqual(requests.map((_, index) => (index < 10 ? "running" : "won")));
    expect(await commits()).toBeLessThan(10 + 10);
    const rest = requests.slice(10);
    const won = rest.map((request) => ({ ...request, owner: `${request.call} ${request.round}` }));
    for (const request of rest)
      await admin.query(
        `UPDATE ${schema}.parley_rounds SET owner = call || ' ' || round WHERE call = $1 AND round = $2`,
        [request.call, request.round],
      );
    const steps = await Promise.all(
      won.map((hold, index) => ledger.recordStep(index % 3 ? hold : other(hold), bytes(`step ${index}`), 60_000)),
    );
    expect(steps).toEqual(won.map((_, index) => index % 3 > 0));
    const settle = (hold: ClaimRequest, index: number) =>
      ledger.settle(index % 5 ? hold : other(hold), {
        outcome: bytes(`outcome ${index}`),
        ...(index % 2 && { journal: bytes(`chunk ${index}`) }),
        keepMs: 60_000,
      });
    const before = await commits();
    expect(await Promise.all(won.map(settle))).toEqual(won.map((_, index) => index % 5 > 0));
    expect(await commits()).toBeLessThan(before);
    for (const [index, hold] of won.entries()) {
      const claim = await ledger.claim(hold);
      if (claim.type === "settled") expect(Buffer.from(claim.outcome).toString()).toBe(`outcome ${index}`);
      else expect(claim).toMatchObject({ type: "won", steps: index % 3 ? [Buffer.from(`step ${index}`)] : [] });
      expect(claim.type).toBe(index % 5 ? "settled" : "won");
    }
  });

  it("what is late before its turn comes is never sent", async () => {
    const schema = schemaOfTest();
    await postgresLedger(admin, { schema }).claim(fresh());
    const pool = newPool({ max: 6 });
    const ledger = postgresLedger(pool, { schema, timeoutMs: 300 });
    await ledger.claim(fresh());
    const blocker = await admin.connect();
    await blocker.query("BEGIN");
    await blocker.query(`LOCK TABLE ${schema}.parley_rounds IN ACCESS EXCLUSIVE MODE`);
    const requests = Array.from({ length: 8 }, (_, index) => fresh({ call: `waits ${index}`, answers: "late" }));
    for (const wait of requests.map((request) => ledger.claim(request)))
      await expect(wait).rejects.toMatchObject({ code: "ledger_unavailable" });
    await blocker.query("COMMIT");
    blocker.release();
    await expect.poll(() => ledger.claim(fresh()).then(({ type }) => type), { timeout: 3_000 }).toBe("won");
    await sleep(100);
    const { rows } = await admin.query(`SELECT call FROM ${schema}.parley_rounds WHERE answers = 'late'`);
    // Those that were on their way may have arrived; their leases free them.
    for (const { call } of rows) expect(["waits 0", "waits 1"]).toContain(call);
    await ledger.close();
    await pool.end();
  });

  it("what is late while it waits for a connection together is never sent", async () => {
    const schema = schemaOfTest();
    const pool = newPool({ max: 1 });
    await postgresLedger(pool, { schema }).claim(fresh());
    const ledger = postgresLedger(pool, { schema, timeoutMs: 400 });
    await ledger.claim(fresh());
    const first = [fresh(), fresh()].map((request) => ledger.claim(request));
    const group = [1, 2, 3, 4].map(() => ledger.claim(fresh({ answers: "late" })).catch((error) => error));
    // It takes its turn behind the two that are sent at once, and before the group that follows them.
    const taken = pool.connect();
    for (const claim of first) expect((await claim).type).toBe("won");
    const client = await taken;
    for (const late of group) expect(await late).toMatchObject({ code: "ledger_unavailable" });
    client.release();
    expect((await ledger.claim(fresh())).type).toBe("won");
    const { rows } = await admin.query(`SELECT call FROM ${schema}.parley_rounds WHERE answers = 'late'`);
    expect(rows).toEqual([]);
    await ledger.close();
    await pool.end();
  });

  it("works where a database's default isolation is stricter, and in a schema whose name needs quotes", async () => {
    const schema = `Parley_Test_${randomUUID().slice(0, 8)}`;
    schemas.push(schema);
    const pool = newPool({ options: "-c default_transaction_isolation=repeatable\\ read -c bytea_output=escape" });
    const ledger = postgresLedger(pool, { schema });
    const request = fresh();
    expect((await ledger.claim(request)).type).toBe("won");
    const every = Uint8Array.from({ length: 256 }, (_, index) => index);
    await ledger.settle(request, { outcome: every, keepMs: 60_000 });
    const claim = await ledger.claim(other(request));
    expect(claim.type === "settled" && [...claim.outcome]).toEqual([...every]);
    await ledger.close();
    await pool.end();
  });

  it("refuses a newer schema, a hostile name, and says so as configuration", async () => {
    const schema = schemaOfTest();
    const pool = newPool();
    await postgresLedger(pool, { schema }).claim(fresh());
    await admin.query(`UPDATE ${schema}.parley_meta SET value = 99`);
    await expect(postgresLedger(pool, { schema }).claim(fresh())).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("version 99"),
    });
    await pool.end();
    expect(() => postgresLedger(admin, { schema: 'a"; DROP SCHEMA public' })).toThrow(/schema/);
  });

  it.each(["its own pool", "a pool handed in"])("%s: connections cut, then it works again", async (whose) => {
    const schema = schemaOfTest();
    const application = `parley ${randomUUID()}`;
    const connectionString = `${POSTGRES_URL}?application_name=${encodeURIComponent(application)}`;
    const pool = newPool({ connectionString });
    const ledger = postgresLedger(whose === "its own pool" ? { connectionString } : pool, { schema });
    const request = fresh();
    await ledger.claim(request);
    // A lock keeps one operation in flight while its connection is cut.
    const blocker = await admin.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT 1 FROM ${schema}.parley_rounds FOR UPDATE`);
    const settling = ledger.settle(request, { outcome: bytes("x"), keepMs: 60_000 }).catch((error) => error);
    await sleep(100);
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [
      application,
    ]);
    expect(await settling).toMatchObject({
      code: "ledger_unavailable",
      details: { store: "postgres", operation: "settle" },
      cause: expect.any(Error),
    });
    await blocker.query("COMMIT");
    blocker.release();
    // An idle connection that was cut too may show it only when it is used.
    await expect
      .poll(
        () =>
          ledger.claim(other(request)).then(
            ({ type }) => type,
            () => undefined,
          ),
        { timeout: 3_000 },
      )
      .toBe("running");
    expect(await ledger.settle(request, { outcome: bytes("y"), keepMs: 60_000 })).toBe(true);
    await ledger.close();
    await pool.end();
  });

  it("an answer that comes too late is a failure, gives its place in the pool back, and never a win", async () => {
    const schema = schemaOfTest();
    const pool = newPool({ max: 1 });
    await postgresLedger(pool, { schema }).claim(fresh());
    const ledger = postgresLedger(pool, { schema, timeoutMs: 250 });
    const request = fresh({ leaseMs: 1 });
    await ledger.claim(request);
    await sleep(10);
    const blocker = await admin.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT 1 FROM ${schema}.parley_rounds FOR UPDATE`);
    const begun = performance.now();
    const late = other(request, { leaseMs: 300 });
    const waits = await Promise.all([late, other(request)].map((claim) => ledger.claim(claim).catch((error) => error)));
    for (const failure of waits) expect(failure).toMatchObject({ code: "ledger_unavailable" });
    expect(performance.now() - begun).toBeLessThan(1_500);
    expect((await ledger.claim(fresh())).type).toBe("won");
    await blocker.query("COMMIT");
    blocker.release();
    await sleep(400);
    expect((await ledger.claim(other(request))).type).toBe("won");
    expect(await ledger.settle(late, { outcome: bytes("late"), keepMs: 60_000 })).toBe(false);
    await ledger.close();
    await pool.end();
  });

  it("an unreachable port is ledger_unavailable quickly; a server that never answers, after timeoutMs", async () => {
    const silent = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const mute = postgresLedger({ connectionString: `postgres://a@127.0.0.1:${port}/x` }, { timeoutMs: 300 });
    const begun = performance.now();
    await expect(mute.claim(fresh())).rejects.toMatchObject({ code: "ledger_unavailable" });
    expect(performance.now() - begun).toBeLessThan(1_500);
    await mute.close();
    await new Promise((resolve) => silent.close(resolve));
    const refused = postgresLedger({ connectionString: `postgres://a@127.0.0.1:${port}/x` });
    await expect(refused.claim(fresh())).rejects.toMatchObject({
      code: "ledger_unavailable",
      cause: expect.any(Error),
    });
    expect(performance.now() - begun).toBeLessThan(3_000);
    await refused.close();
  });
});
