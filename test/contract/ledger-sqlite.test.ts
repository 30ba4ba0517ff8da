import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { afterAll, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite.ts";
import { bytes, fresh, other, testLedger } from "./ledger-suite.ts";
import { whenReachable } from "./servers.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-ledger-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);

const run = await whenReachable("better-sqlite3", async () => {
  new Database(":memory:").close();
});

testLedger(
  "sqlite",
  async () => {
    const path = newFile();
    return {
      open: () => sqliteLedger({ path }),
      calls: async () => {
        const database = new Database(path, { readonly: true });
        const count = database.prepare("SELECT COUNT(DISTINCT call) FROM parley_rounds").pluck().get() as number;
        database.close();
        return count;
      },
      end: async () => {},
    };
  },
  run,
);

run("sqlite ledger", () => {
  it("opens in WAL mode, and remembers over a restart", async () => {
    const path = newFile();
    const first = sqliteLedger({ path });
    const request = fresh();
    await first.claim(request);
    await first.settle(request, { outcome: bytes("kept"), keepMs: 60_000 });
    await first.close();
    const database = new Database(path);
    expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
    const second = sqliteLedger(database);
    expect((await second.claim(other(request))).type).toBe("settled");
    await second.close();
    expect(database.open, "a database handed in stays open").toBe(true);
    database.close();
  });

  it("two processes on one new file: every round has one winner", async () => {
    expect(existsSync("dist/ledger/sqlite.js"), "npm run build comes first").toBe(true);
    const path = newFile();
    const child = () =>
      promisify(execFile)(process.execPath, ["test/contract/ledger-sqlite-child.mjs", path, "300"], {
        timeout: 25_000,
      }).then(({ stdout }) => JSON.parse(stdout) as { pid: number; won: number[] });
    const results = await Promise.all([child(), child()]);
    const won = results.flatMap((result) => result.won).sort((a, b) => a - b);
    expect(won).toEqual(Array.from({ length: 300 }, (_, index) => index));
    const ledger = sqliteLedger({ path });
    for (const { pid, won: mine } of results)
      for (const index of mine.slice(0, 5)) {
        const claim = await ledger.claim(fresh({ call: `call ${index}`, answers: "a" }));
        expect(claim.type === "settled" && Buffer.from(claim.outcome).toString()).toBe(String(pid));
      }
    await ledger.close();
  });

  it("processes that open a new file at the same moment all get it", async () => {
    const args = ["test/contract/ledger-sqlite-openers.mjs", folder, String(Date.now() + 1_500)];
    const child = () => promisify(execFile)(process.execPath, args, { timeout: 25_000 });
    await Promise.all([child(), child(), child(), child()]);
    expect(existsSync(join(folder, "opened-29.sqlite"))).toBe(true);
  }, 30_000);

  it("a lock held too long fails closed in time without blocking the process, and nothing is written late", async () => {
    const path = newFile();
    const ledger = sqliteLedger({ path }, { timeoutMs: 300 });
    const blocker = new Database(path);
    blocker.exec("BEGIN IMMEDIATE");
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 10);
    const request = fresh();
    const begun = performance.now();
    await expect(ledger.claim(request)).rejects.toMatchObject({
      code: "ledger_unavailable",
      details: { store: "sqlite", operation: "claim" },
    });
    expect(performance.now() - begun).toBeLessThan(1_500);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(5);
    blocker.exec("COMMIT");
    await sleep(150);
    expect(blocker.prepare("SELECT COUNT(*) FROM parley_rounds").pluck().get()).toBe(0);
    expect(await ledger.claim(request)).toMatchObject({ type: "won", attempt: 1 });
    blocker.close();
    await ledger.close();
  });

  it("a lock given back in time is waited for", async () => {
    const path = newFile();
    const ledger = sqliteLedger({ path });
    const blocker = new Database(path);
    blocker.exec("BEGIN IMMEDIATE");
    const claim = ledger.claim(fresh());
    await sleep(100);
    blocker.exec("COMMIT");
    expect((await claim).type).toBe("won");
    blocker.close();
    await ledger.close();
  });

  it("a database that fails is ledger_unavailable with its cause", async () => {
    const database = new Database(":memory:");
    const ledger = sqliteLedger(database);
    database.close();
    const failure = await ledger.claim(fresh()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "ledger_unavailable" });
    expect((failure as Error).cause).toBeInstanceOf(Error);
  });

  it("refuses a newer schema and leaves it alone", () => {
    const path = newFile();
    const database = new Database(path);
    sqliteLedger(database);
    database.exec("UPDATE parley_meta SET value = 99 WHERE name = 'schema'");
    expect(() => sqliteLedger({ path })).toThrowError(
      expect.objectContaining({ code: "configuration", message: expect.stringContaining("version 99") }),
    );
    expect(database.prepare("SELECT value FROM parley_meta").pluck().get()).toBe(99);
    database.close();
  });

  it("names what is wrong with the options", () => {
    expect(() => sqliteLedger({ path: join(folder, "no", "such", "folder") })).toThrowError(
      expect.objectContaining({ code: "configuration" }),
    );
    expect(() => sqliteLedger({ path: newFile() }, { timeoutMs: 0 })).toThrow(/timeoutMs/);
  });
});
