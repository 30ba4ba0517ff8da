import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
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
        const { rows } = await (pools[2] as pg.Pool).query(`SELECT COUNT(*)::int AS count FROM ${schema}.parley_calls`);
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

  it("a round left behind without its call, or under an expired one, is nobody's", async () => {
    const schema = schemaOfTest();
    const ledger = postgresLedger(admin, { schema });
    const request = fresh();
    await ledger.claim(request);
    await ledger.settle(request, { outcome: bytes("old"), keepMs: 60_000 });
    await admin.query(`DELETE FROM ${schema}.parley_calls`);
    expect(await ledger.claim(other(request, { answers: "others" }))).toMatchObject({ type: "won", attempt: 1 });
    await admin.query(`UPDATE ${schema}.parley_calls SET expires_at = now()`);
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, round) => ledger.claim(other(request, { round: round % 4 }))),
    );
    expect(claims.filter((claim) => claim.type === "won")).toHaveLength(4);
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
    await blocker.query(`SELECT 1 FROM ${schema}.parley_calls FOR UPDATE`);
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
    await blocker.query(`SELECT 1 FROM ${schema}.parley_calls FOR UPDATE`);
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
