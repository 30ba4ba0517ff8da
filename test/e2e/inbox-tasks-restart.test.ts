/** B45, H19, H23: tasks outlast the inbox that looks after them, and the server that runs them; inboxes share them. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createInbox } from "../../src/inbox/inbox.ts";
import { sqlitePending } from "../../src/pending/sqlite.ts";
import { running, type Serving, serving } from "../helpers/cli.ts";
import { handTasks, question } from "../helpers/hand-tasks.ts";
import { connect } from "../helpers/http.ts";
import { Browser, over, waiting } from "./inbox-browser.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-inbox-tasks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);
const yes = { action: "accept", content: { confirm: true } } as const;

async function inboxCommand(path: string, url: string, ...args: string[]) {
  const inbox = await running(["inbox", "--server", `desk=${url}`, "--store", path, ...args]);
  onTestFinished(async () => void (await inbox.stop("SIGKILL")));
  const page = await Browser.open(inbox.url);
  const only = async () => (await page.inbox()).calls[0];
  return { ...inbox, page, only };
}

async function desk() {
  const server = await handTasks();
  onTestFinished(() => server.close());
  return server;
}

describe("an inbox killed with a task in its care", () => {
  it("while it works: the next inbox looks on, starts nothing again, and the file tells no word of the server", async () => {
    const path = newFile();
    const server = await desk();
    Object.assign(server.knobs, { message: "a-word-of-the-server", pollIntervalMs: 300 });
    const first = await inboxCommand(path, server.url, "--start", "desk:build");
    await expect
      .poll(async () => (await first.only())?.task?.message?.text, { timeout: 10_000 })
      .toBe(server.knobs.message);
    const id = (await first.only())?.id ?? "";
    await first.stop("SIGKILL");
    const bytes = [path, `${path}-wal`].filter((file) => existsSync(file)).map((file) => readFileSync(file, "latin1"));
    for (const secret of ["a-word-of-the-server", "task-1"]) expect(bytes.join()).not.toContain(secret);

    server.knobs.message = "still at it";
    const second = await inboxCommand(path, server.url);
    const seen = await second.page.until(id, ({ task }) => task?.message?.text === "still at it");
    expect(seen.state).toBe("sending");
    server.knobs.status = "completed";
    expect(await second.page.until(id, over)).toMatchObject({ state: "complete", result: { text: { text: "built" } } });
    expect(server.count("tools/call")).toBe(1);
    expect(await second.stop("SIGTERM")).toBe(0);
  });

  it("while it asks: the question stands, is not put again, and its answer goes out once", async () => {
    const path = newFile();
    const server = await desk();
    const first = await inboxCommand(path, server.url, "--start", "desk:build");
    Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") } });
    await expect.poll(async () => (await first.page.inbox()).waiting, { timeout: 10_000 }).toBe(1);
    const id = (await first.only())?.id ?? "";
    await first.stop("SIGKILL");
    const second = await inboxCommand(path, server.url);
    const call = await second.page.until(id, waiting);
    await second.page.decide(call, yes);
    await second.page.until(id, ({ task }) => task?.status === "working");
    server.knobs.status = "completed";
    const ended = await second.page.until(id, over);
    expect(ended.history.filter(({ type }) => type === "asked")).toHaveLength(1);
    expect([server.count("tools/call"), server.count("tasks/update")]).toEqual([1, 1]);
  });

  it("and its server too: one of ours, with tasks in a file, goes on where it was, each effect once", async () => {
    const [path, tasks] = [newFile(), newFile()];
    const effects = join(folder, "effects.txt");
    const serve = async (port = 0): Promise<Serving> => {
      const env = { TASKS_FILE: tasks, EFFECTS_FILE: effects };
      const served = await serving("tasks-sqlite.mjs", port === 0 ? [] : ["--port", String(port)], env);
      onTestFinished(async () => void (await served.stop("SIGKILL")));
      return served;
    };
    const server = await serve();
    const first = await inboxCommand(path, server.url, "--start", "desk:release");
    await expect.poll(async () => (await first.page.inbox()).waiting, { timeout: 10_000 }).toBe(1);
    const id = (await first.only())?.id ?? "";
    await first.page.decide(await first.page.until(id, waiting), yes);
    await first.page.until(id, ({ task }) => task !== undefined);
    await first.stop("SIGKILL");
    await server.stop("SIGKILL");

    const second = await inboxCommand(path, server.url);
    await second.page.until(id, ({ problem }) => problem?.includes("cannot be reached") === true);
    await serve(Number(new URL(server.url).port));
    const asked = await second.page.until(id, waiting);
    expect(asked.questions.map(({ view }) => view.key)).toEqual(["publish"]);
    await second.page.decide(asked, yes);
    expect(await second.page.until(id, over)).toMatchObject({
      state: "complete",
      result: { text: { text: "published" } },
    });
    expect(readFileSync(effects, "utf8")).toBe("build\nupload\n");
  });
});

describe("two inboxes on one file", () => {
  /** A process of its own with a short lease; the id of the call it started. */
  async function child(path: string, url: string, target: string): Promise<{ process: ChildProcess; id: string }> {
    const process = fork("test/fixtures/inbox-process.mjs", [path, url, target], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    onTestFinished(() => void process.kill("SIGKILL"));
    const lines = createInterface({ input: process.stdout as NodeJS.ReadableStream });
    const [id] = (await once(lines, "line")) as [string];
    return { process, id };
  }

  it("H23: killed with answers to a task on their way, the other sends the same ones when the lease is over", async () => {
    const path = newFile();
    const server = await desk();
    const { process, id } = await child(path, server.url, "build");
    const store = sqlitePending({ path });
    Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") } });
    await expect.poll(async () => (await store.get(id))?.state, { timeout: 10_000 }).toBe("waiting");
    server.knobs.hold = { of: /tasks\/update/, until: new Promise(() => {}) };
    process.send({ call: id, question: "r1-0", decision: yes });
    await expect.poll(() => server.count("tasks/update"), { timeout: 5_000 }).toBe(1);
    const gone = once(process, "exit");
    process.kill("SIGKILL");
    await gone;
    server.knobs.hold = undefined;
    const inbox = open(store, server.url);
    await expect.poll(() => server.count("tasks/update"), { timeout: 5_000 }).toBe(2);
    await expect.poll(async () => (await inbox.call(id)).task?.status).toBe("working");
    const updates = server.seen.filter(({ method }) => method === "tasks/update");
    for (const { params } of updates) expect(params["inputResponses"]).toEqual({ go: yes });
    expect(server.count("tools/call")).toBe(1);
    await inbox.close();
    await store.close();
  });

  it("H28: killed while it tells the server of a stop, the other does when the lease is over", async () => {
    const path = newFile();
    const server = await desk();
    const { process, id } = await child(path, server.url, "build");
    const store = sqlitePending({ path });
    await expect.poll(async () => (await store.get(id))?.task?.status, { timeout: 10_000 }).toBe("working");
    server.knobs.hold = { of: /tasks\/cancel/, until: new Promise(() => {}) };
    process.send({ stop: id });
    await expect.poll(() => server.count("tasks/cancel"), { timeout: 5_000 }).toBe(1);
    const gone = once(process, "exit");
    process.kill("SIGKILL");
    await gone;
    server.knobs.hold = undefined;
    const inbox = open(store, server.url);
    await expect.poll(async () => (await inbox.call(id)).state, { timeout: 5_000 }).toBe("stopped");
    expect((await inbox.call(id)).problem).toContain("The server was told to cancel its task.");
    expect(server.knobs.status).toBe("cancelled");
    await inbox.close();
    await store.close();
  });

  it("B45: share the looks, hear of each other's, and one that closes lets go at once of a look that hangs", async () => {
    const path = newFile();
    const server = await desk();
    server.knobs.pollIntervalMs = 200;
    const stores = [sqlitePending({ path }), sqlitePending({ path })] as const;
    const [one, two] = stores.map((store) => open(store, server.url)) as [
      ReturnType<typeof open>,
      ReturnType<typeof open>,
    ];
    const { id } = await one.start({ server: "desk", method: "tools/call", target: "build" }, "host");
    await expect.poll(async () => (await two.call(id)).task?.status).toBe("working");
    const looks = server.count("tasks/get");
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(server.count("tasks/get") - looks, "not twice as often").toBeLessThanOrEqual(11);
    expect(server.count("tasks/get") - looks).toBeGreaterThan(3);

    const told: string[] = [];
    for (const [name, inbox] of Object.entries({ one, two })) inbox.subscribe(() => told.push(name));
    server.knobs.message = "news";
    await expect.poll(() => new Set(told).size, { message: "both hear of it" }).toBe(2);

    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.knobs.hold = { of: /tasks\/get/, until };
    const before = server.count("tasks/get");
    await expect.poll(() => server.count("tasks/get")).toBeGreaterThan(before);
    const closing = performance.now();
    await Promise.all([one.close(), two.close()]);
    expect(performance.now() - closing, "graceMs is 3 s").toBeLessThan(1_000);
    server.knobs.hold = undefined;
    release();
    expect(server.count("tasks/cancel")).toBe(0);
    const third = open(stores[0], server.url);
    server.knobs.status = "completed";
    await expect.poll(async () => (await third.call(id)).state).toBe("complete");
    expect((await third.call(id)).history.map(({ type }) => type)).toEqual(["started", "task", "ended"]);
    await third.close();
    for (const store of stores) await store.close();
  });

  it.each([
    ["a question", { status: "input_required", asks: { go: question("Go?") } }],
    ["no news", { status: "working" }],
  ])("H28: stopped by one while the other's look brings %s, it asks nobody and is cancelled", async (_what, looked) => {
    const path = newFile();
    const server = await desk();
    const stores = [sqlitePending({ path }), sqlitePending({ path })] as const;
    const one = open(stores[0], server.url);
    const { id } = await one.start({ server: "desk", method: "tools/call", target: "build" }, "host");
    await expect.poll(async () => (await one.call(id)).task?.status).toBe("working");
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.knobs.hold = { of: /tasks\/get/, until };
    const before = server.count("tasks/get");
    await expect.poll(() => server.count("tasks/get")).toBeGreaterThan(before);
    const two = open(stores[1], server.url);
    expect(await two.stop(id)).toMatchObject({ state: "sending", ending: true });
    Object.assign(server.knobs, { pollIntervalMs: 60_000, ...looked });
    release();
    await expect.poll(async () => (await two.call(id)).state, { timeout: 5_000 }).toBe("stopped");
    const stopped = await two.call(id);
    expect(stopped.problem).toContain("The server was told to cancel its task.");
    expect(stopped.history.map(({ type }) => type)).toEqual(["started", "task", "ending", "ended"]);
    expect(server.knobs.status).toBe("cancelled");
    await Promise.all([one.close(), two.close()]);
    for (const store of stores) await store.close();
  });

  function open(store: ReturnType<typeof sqlitePending>, url: string) {
    return createInbox({ store, servers: { desk: { connect: () => connect(url) } }, pollMs: 20, leaseMs: 600 });
  }
});
