/** B45: ten thousand people who never come back. The list stays quick, memory stays flat, and the rest is refused. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { sqlitePending } from "../../src/pending/sqlite.ts";
import { waitingCall } from "../contract/pending-suite.ts";
import { world } from "./inbox-world.ts";

const MANY = 10_000;
const MIB = 1024 * 1024;

it("10,000 waiting calls: a page of them in well under a second, none of them read for it, and no 10,001st", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-many-"));
  const database = new Database(join(folder, "calls.sqlite"));
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  database.pragma("synchronous = OFF");
  const store = sqlitePending(database);
  const requestState = "s".repeat(4000);
  for (let at = 0; at < MANY; at += 1) {
    const { saved, ...call } = waitingCall();
    await store.add({ ...call, server: "desk", saved: { ...saved, requestState } as NonNullable<typeof saved> });
  }

  const { browser, server } = await world({ store });
  const page = await browser();
  const first = await page.inbox();
  expect(first).toMatchObject({ total: MANY, waiting: MANY });
  const before = process.memoryUsage().rss;
  const startedAt = performance.now();
  let seen = 0;
  let pages = 0;
  for (let after: string | undefined; pages === 0 || after !== undefined; pages += 1) {
    const view = await store.list(50, after);
    seen += view.calls.length;
    after = view.next;
  }
  const ms = (performance.now() - startedAt) / pages;
  expect([seen, pages]).toEqual([MANY, MANY / 50]);
  // A few ms; the bound is for a busy machine.
  expect(ms, "ms for a page, also the last one").toBeLessThan(200);
  // The calls are 40 MB: had they been read, it would show.
  expect((process.memoryUsage().rss - before) / MIB).toBeLessThan(30);

  const full = await page.post("/api/calls", { server: "desk", method: "tools/call", target: "confirm" });
  expect([full.status, full.body.error.code]).toEqual([503, "limit_exceeded"]);
  expect(server.legs, "nothing was sent").toHaveLength(0);
  const id = first.calls[0]?.id ?? "";
  expect((await page.post(`/api/calls/${id}/stop`)).body.state).toBe("stopped");
  expect(await page.asked("desk", "confirm"), "the ended one made room").toMatchObject({ state: "waiting" });
  expect((await page.inbox()).total).toBe(MANY);
}, 60_000);
