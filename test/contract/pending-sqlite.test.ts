import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Database from "better-sqlite3";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite.ts";
import { decide } from "../../src/pending/rules.ts";
import { type SqlitePendingOptions, sqlitePending } from "../../src/pending/sqlite.ts";
import { SCHEMA } from "../../src/pending/sqlite-schema.ts";
import { person, taskCall, testPending, waitingCall } from "./pending-suite.ts";
import { whenReachable } from "./servers.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-pending-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);
const key = (byte: number) => Buffer.from(Array.from({ length: 32 }, (_, at) => (at * 7 + byte) % 256));

const run = await whenReachable("better-sqlite3", async () => {
  new Database(":memory:").close();
});

const world = (keys?: SqlitePendingOptions["keys"]) => () => {
  const path = newFile();
  const open = (options: SqlitePendingOptions = {}) => sqlitePending({ path }, { ...options, ...(keys && { keys }) });
  return { open, again: open };
};
testPending("sqlite", world(), run);
testPending("sealed sqlite", world([key(1)]), run);

const bytesOf = (path: string) =>
  [path, `${path}-wal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "latin1"))
    .join();

run("sqlite pending calls", () => {
  it("remembers over a restart, and shares its file with a ledger", async () => {
    const path = newFile();
    const first = sqlitePending({ path });
    const ledger = sqliteLedger({ path });
    const call = waitingCall();
    await first.add(call);
    await first.close();
    await ledger.close();
    const database = new Database(path);
    const second = sqlitePending(database);
    expect((await second.get(call.id))?.saved?.requestState).toBe("secret-state");
    await second.close();
    expect(database.open, "a database handed in stays open").toBe(true);
    database.close();
  });

  it("D3: three processes on one file: every question has one decision, and each loser is told of it", async () => {
    expect(existsSync("dist/pending/sqlite.js"), "npm run build comes first").toBe(true);
    const path = newFile();
    const store = sqlitePending({ path });
    const calls = Array.from({ length: 150 }, () => waitingCall());
    for (const call of calls) await store.add(call);
    const children = ["accept", "decline", "cancel"].map((action) => {
      const args = ["test/contract/pending-sqlite-child.mjs", path, action];
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      return { action, child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
    });
    for (const { lines } of children) expect((await lines.next()).value).toBe("ready");
    for (const { child } of children) child.stdin.write("go\n");
    const results = await Promise.all(
      children.map(async ({ action, lines }) => ({ action, won: JSON.parse((await lines.next()).value) as string[] })),
    );
    expect(results.flatMap(({ won }) => won).sort()).toEqual(calls.map(({ id }) => id).sort());
    for (const { action, won } of results) {
      for (const id of won) {
        const decided = (await store.get(id))?.history.filter(({ type }) => type === "decided");
        expect(decided).toEqual([expect.objectContaining({ decision: expect.objectContaining({ action }) })]);
      }
    }
    await store.close();
  });

  it("the file is its owner's alone, one that was there already too", async () => {
    const path = newFile();
    writeFileSync(path, "", { mode: 0o644 });
    const store = sqlitePending({ path });
    await store.add(waitingCall());
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, file).toBe(0o600);
    await store.close();
  });

  it("with keys neither states nor answers are readable at rest, keys can be rotated, and nothing opens elsewhere", async () => {
    const call = waitingCall(["a", "b"]);
    const task = taskCall(1);
    const answer = { action: "accept" as const, content: { word: "hush-hush" } };
    const write = async (keys?: SqlitePendingOptions["keys"]) => {
      const path = newFile();
      const store = sqlitePending({ path }, keys && { keys });
      await store.add(call);
      await store.add(task);
      await store.update(call.id, (one) => decide(one, "r1-0", person("accept"), answer));
      return { path, store };
    };
    const clear = await write();
    expect(bytesOf(clear.path), "without keys they are: the test can see them").toMatch(/secret-state[\s\S]*hush-hush/);
    for (const word of ["task-1", "a-word-of-the-server"]) expect(bytesOf(clear.path)).toContain(word);
    await clear.store.close();

    const { path, store } = await write([key(1)]);
    expect(bytesOf(path)).not.toMatch(/secret-state|hush-hush|task-1|a-word-of-the-server/);
    await store.close();
    const rotated = sqlitePending({ path }, { keys: [key(2), key(1)] });
    expect((await rotated.get(call.id))?.saved?.requestState).toBe("secret-state");
    await rotated.close();
    const strange = sqlitePending({ path }, { keys: [key(2)] });
    await expect(strange.get(call.id)).rejects.toMatchObject({ code: "store_unavailable" });
    await strange.close();

    const database = new Database(path);
    database.prepare("UPDATE parley_pending SET id = ? WHERE id = ?").run("f".repeat(32), call.id);
    database.close();
    const moved = sqlitePending({ path }, { keys: [key(1)] });
    await expect(moved.get("f".repeat(32))).rejects.toMatchObject({ code: "store_unavailable" });
    await moved.close();
  });

  it("a lock held too long is an error in time, without blocking the process; nothing is written late", async () => {
    const path = newFile();
    const store = sqlitePending({ path }, { timeoutMs: 200 });
    const call = waitingCall();
    await store.add(call);
    const blocker = new Database(path);
    blocker.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 5);
    const update = store.update(call.id, (one) => decide(one, "r1-0", person("accept")));
    await expect(update).rejects.toMatchObject({ code: "store_unavailable" });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    blocker.exec("COMMIT");
    expect((await store.get(call.id))?.state).toBe("waiting");
    blocker.close();
    await store.close();
  });

  it("takes over a file of the first version, with its calls, lists and what is due", async () => {
    const path = newFile();
    const database = new Database(path);
    database.exec("CREATE TABLE parley_meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT");
    database.exec(SCHEMA.migrations[0] as string);
    database.exec("INSERT INTO parley_meta VALUES ('pending', 1)");
    const calls = [waitingCall(["ok"], { answerBy: 7 }), waitingCall([], { state: "sending" })];
    for (const { id, state, answerBy = null, ...call } of calls) {
      const due = state === "sending" ? 0 : answerBy;
      database
        .prepare("INSERT INTO parley_pending VALUES (?, 's', 'tools/call', 't', ?, 0, 1, 1, 1, 1, 1, ?, ?, ?)")
        .run(id, state, answerBy, due, Buffer.from(JSON.stringify({ id, state, ...call })));
    }
    database.close();
    const store = sqlitePending({ path });
    expect((await store.list(9)).calls.map(({ id, answerBy, task, isError }) => [id, answerBy, task, isError])).toEqual(
      [
        [calls[0]?.id, 7, undefined, undefined],
        [calls[1]?.id, undefined, undefined, undefined],
      ],
    );
    expect(await store.due(["s"], 9)).toEqual([calls[1]?.id, calls[0]?.id]);
    expect((await store.get(calls[0]?.id ?? ""))?.saved?.requestState).toBe("secret-state");
    const task = taskCall(1);
    await store.add(task);
    expect((await store.list(9)).calls.find(({ id }) => id === task.id)?.task).toBe("working");
    await store.close();
  });

  it("refuses a newer schema, and a folder that is not there", () => {
    const path = newFile();
    const database = new Database(path);
    sqlitePending(database);
    database.exec("UPDATE parley_meta SET value = 99 WHERE name = 'pending'");
    expect(() => sqlitePending({ path })).toThrowError(/version 99/);
    database.close();
    expect(() => sqlitePending({ path: join(folder, "no", "such", "file") })).toThrowError(
      expect.objectContaining({ code: "configuration" }),
    );
  });
});
