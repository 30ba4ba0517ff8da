import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { type CallEvent, createCalls } from "../../src/client.ts";
import { Caller, post } from "./replicas-caller.ts";
import {
  inFiles,
  inPostgres,
  newKey,
  type Replica,
  replica,
  type Shared,
  sharing,
  withPostgres,
} from "./replicas-world.ts";

const stores: [string, () => Promise<Shared>, typeof describe][] = [
  ["SQLite", () => inFiles(), describe],
  ["PostgreSQL", inPostgres, withPostgres],
];
const REFUSED = { code: -32602, data: { reason: "invalid_request_state" } };

/** Two replicas, restarted one after the other with other keys. */
class Rolling {
  readonly #shared: Shared;
  current: [Replica, Replica] | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  get all(): [Replica, Replica] {
    return this.current as [Replica, Replica];
  }

  async start(...keys: string[]): Promise<void> {
    this.current = await Promise.all([this.#begin("r1", keys), this.#begin("r2", keys)]);
  }

  #begin(name: string, keys: string[]): Promise<Replica> {
    return replica(name, this.#shared, { keys });
  }

  /** `between` runs while the first has the new keys and the second the old ones. */
  async restart(keys: string[], between: () => Promise<void> = async () => {}): Promise<void> {
    const [one, other] = this.all;
    const [newOne, newOther] = await Promise.all([this.#begin(one.name, keys), this.#begin(other.name, keys)]);
    this.current = [newOne, other];
    await one.kill();
    await between();
    this.current = [newOne, newOther];
    await other.kill();
  }

  /** A round at both replicas at once; both give the same bytes. */
  async round(caller: Caller): Promise<void> {
    const body = caller.body();
    const [one, other] = await Promise.all(this.all.map(({ url }) => post(url, body)));
    expect(other).toBe(one);
    expect(caller.take(one as string).error).toBeUndefined();
  }
}

describe.each(stores)("B44 keys are rotated in the middle of calls, over %s", (store, make, run) => {
  run(store, () => {
    it("replica by replica, open calls go on, and every effect happens once", async () => {
      await sharing(make, async (shared) => {
        const [old, young] = [newKey(), newKey()];
        const server = new Rolling(shared);
        const callers = Array.from({ length: 6 }, (_, index) => new Caller("pay", `call-${index}`, { note: true }));
        const [a, b, c, d, e, f] = callers as [Caller, Caller, Caller, Caller, Caller, Caller];
        await server.start(old);
        for (const caller of [a, b, c]) await server.round(caller);
        // The new key opens everywhere before it seals anywhere; between the two, every mixture is served.
        await server.restart([old, young], async () => {
          for (const caller of [a, d]) await server.round(caller);
        });
        await server.restart([young, old], async () => {
          for (const caller of [a, b, e]) await server.round(caller);
        });
        for (const caller of [b, c, d, f]) await server.round(caller);
        for (const caller of [c, d, e]) await server.round(caller);
        // Nothing sealed with the old key is out any more.
        await server.restart([young]);
        for (const caller of [e, f]) await server.round(caller);
        await server.round(f);
        for (const caller of callers) expect(JSON.parse(caller.result ?? "{}")).toMatchObject({ note: "thanks" });
        const effects = await shared.seen();
        expect(effects.map(({ call }) => call).sort()).toEqual(callers.map(({ call }) => call));
      });
    }, 60_000);

    it("a key dropped too early: one clean refusal, nothing is done, and our driver asks again", async () => {
      await sharing(make, async (shared) => {
        const [old, young] = [newKey(), newKey()];
        const server = new Rolling(shared);
        await server.start(old);
        const raw = new Caller("pay", "raw");
        await server.round(raw);
        const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
        const balanced: typeof fetch = (_, init) => fetch(server.all[1].url, init);
        await client.connect(new StreamableHTTPClientTransport(new URL(server.all[1].url), { fetch: balanced }));
        const events: CallEvent[] = [];
        const calls = createCalls(client, { server: "shop", onEvent: (event) => events.push(event) });
        const capabilities = { elicitation: { form: {} } };
        const call = await calls.open("tools/call", { name: "pay", arguments: { call: "driven" } }, { capabilities });
        call.answer("ok", { action: "accept", content: { confirm: true } });

        await server.restart([young]);
        const body = raw.body();
        for (const { url } of server.all) expect(JSON.parse(await post(url, body)).error).toMatchObject(REFUSED);
        await call.continue();
        expect(call.status).toBe("asking");
        expect(call.questions.map(({ key }) => key)).toEqual(["ok"]);
        expect(events.filter(({ type }) => type === "restarted")).toHaveLength(1);
        expect(await shared.seen()).toEqual([]);

        call.answer("ok", { action: "accept", content: { confirm: true } });
        await call.continue();
        expect(call.status).toBe("complete");
        expect((await shared.seen()).map(({ call }) => call)).toEqual(["driven"]);
        await client.close();
      });
    }, 60_000);
  });
});
