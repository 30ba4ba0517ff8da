import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite.ts";
import { sqliteTasks } from "../../src/tasks/sqlite.ts";
import { prepareTasks } from "../../src/tasks/sqlite-schema.ts";
import { whenReachable } from "./servers.ts";
import { bytes, newTask, testTasks } from "./tasks-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-tasks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);

const run = await whenReachable("better-sqlite3", async () => {
  new Database(":memory:").close();
});

testTasks(
  "sqlite",
  async () => {
    const path = newFile();
    let now = 1_000;
    return {
      open: () => sqliteTasks({ path }, { now: () => now }),
      pass: async (ms) => {
        now += ms;
      },
      end: async () => {},
    };
  },
  run,
);

run("sqlite task store", () => {
  it("remembers over a restart, beside a ledger in the same file", async () => {
    const path = newFile();
    const ledger = sqliteLedger({ path });
    const first = sqliteTasks({ path });
    const task = newTask();
    await first.create(task);
    await first.close();
    const second = sqliteTasks({ path });
    expect(await second.read(task.id)).toMatchObject({ phase: "ready" });
    await second.close();
    await ledger.close();
  });

  it("the file is its owner's alone, one that was there already too", async () => {
    const path = newFile();
    writeFileSync(path, "", { mode: 0o644 });
    const store = sqliteTasks({ path });
    await store.create(newTask());
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, file).toBe(0o600);
    await store.close();
  });

  it("drops what can no longer be read, with all that belongs to it", async () => {
    const path = newFile();
    let now = 0;
    const store = sqliteTasks({ path }, { now: () => now });
    const task = newTask({ lifeMs: 10, keepMs: 10 });
    await store.create(task);
    await store.answer(task.id, [{ key: "q", answer: bytes("a") }]);
    now = 100;
    await store.create(newTask());
    const database = new Database(path);
    const count = (table: string) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    expect([count("parley_tasks"), count("parley_task_answers")]).toEqual([1, 0]);
    database.close();
    await store.close();
  });

  it("looks up what runs once for a claim, and not for every task that is ready", async () => {
    const path = newFile();
    await sqliteTasks({ path }).close();
    const database = new Database(path);
    const { source } = prepareTasks(database).next as unknown as { source: string };
    const given = { now: 0, perOwner: 1, kinds: "[]" };
    const plan = (database.prepare(`EXPLAIN QUERY PLAN ${source}`).all(given) as { detail: string }[])
      .map(({ detail }) => detail)
      .join("; ");
    expect(plan).toMatch(/SEARCH parley_tasks USING INDEX parley_tasks_ready/);
    expect(plan).toMatch(/parley_tasks USING (COVERING )?INDEX parley_tasks_held/);
    expect(plan).not.toMatch(/CORRELATED/);
    database.close();
  });

  it("fails closed by name once it is closed", async () => {
    const store = sqliteTasks({ path: newFile() });
    await store.close();
    await expect(store.read("x")).rejects.toMatchObject({ code: "tasks_unavailable" });
  });

  it("fails closed by name when another process keeps its lock, without stopping this one", async () => {
    const path = newFile();
    const store = sqliteTasks({ path }, { timeoutMs: 150 });
    const other = new Database(path);
    other.exec("BEGIN IMMEDIATE");
    const begun = performance.now();
    let turns = 0;
    const turning = setInterval(() => turns++, 10);
    await expect(store.create(newTask())).rejects.toMatchObject({
      code: "tasks_unavailable",
      message: expect.stringMatching(/^The sqlite task store failed closed at create: no answer within 150 ms/),
    });
    clearInterval(turning);
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(turns).toBeGreaterThan(3);
    other.exec("ROLLBACK");
    expect(await store.create(newTask())).toBe("created");
    other.close();
    await store.close();
  });

  it("refuses tables of a newer release", async () => {
    const path = newFile();
    await sqliteTasks({ path }).close();
    const database = new Database(path);
    database.prepare("UPDATE parley_meta SET value = 99 WHERE name = 'tasks'").run();
    database.close();
    expect(() => sqliteTasks({ path })).toThrow(expect.objectContaining({ code: "configuration" }));
  });
});
