/** B37 E5 E6: a link is completed by the person who started the call, or by nobody. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { createParley, type Flow, type Tickets } from "../../src/index.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { RoundServer } from "../../src/server/serve.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const ann: AuthInfo = { token: "t", clientId: "app", scopes: [], extra: { sub: "ann", iss: "https://id" } };
const refused = expect.objectContaining({
  code: "ticket_refused",
  message: expect.stringContaining("cannot be opened"),
});

function world(ttlMs = 60_000) {
  let nowMs = 0;
  const options = { keys: [KEY], callers: "anonymous" as const, ledger: memoryLedger(), now: () => nowMs };
  const tickets = createParley(options).tickets({ url: (ticket) => `https://example.com/connect?t=${ticket}`, ttlMs });
  const server = new RoundServer(resolveOptions(options));
  const run = async (flow: Flow) => {
    await tickets.ask(flow, "connect", { message: "Connect your account", pollMs: 0, everyMs: 1 });
    return { content: [] };
  };
  const request = (requestState?: string, inputResponses?: unknown, authInfo: AuthInfo | undefined = ann) =>
    server.serve(
      { version: undefined, run },
      {
        method: "tools/call",
        target: "t",
        params: { name: "t" },
        inputResponses,
        requestState,
        authInfo,
        capabilities: { elicitation: { url: {} } },
        checkCapabilities: true,
        signal: new AbortController().signal,
        sendProgress: async () => undefined,
      },
    ) as Promise<{
      requestState?: string;
      inputRequests?: Record<string, { params: { url: string } }>;
      content?: unknown;
    }>;
  return { tickets, request, advance: (ms: number) => (nowMs += ms) };
}

async function asked(ttlMs?: number) {
  const own = world(ttlMs);
  const round = await own.request();
  const url = round.inputRequests?.["connect"]?.params.url as string;
  const ticket = new URL(url).searchParams.get("t") as string;
  return { ...own, round, url, ticket };
}

/** What the person at the page sees for a ticket. */
const attempt = (tickets: Tickets, ticket: string, subject: string, issuer?: string) =>
  tickets.open(ticket, { subject, ...(issuer !== undefined && { issuer }) });

describe("tickets", () => {
  it("the caller opens it, completes it, and the call goes on; until then it waits by rounds that ask nothing", async () => {
    const { tickets, request, round, ticket } = await asked();
    const waiting = await request(round.requestState, { connect: { action: "accept" } });
    expect(waiting).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    expect(waiting).not.toHaveProperty("inputRequests");
    await tickets.complete(await attempt(tickets, ticket, "ann", "https://id"));
    expect((await request(waiting.requestState)).content).toEqual([]);
  });

  it("somebody else cannot open it, and does not use it up; the call stays pending", async () => {
    const { tickets, request, round, ticket } = await asked();
    await expect(attempt(tickets, ticket, "eve")).rejects.toEqual(refused);
    await expect(attempt(tickets, ticket, "ann", "https://other")).rejects.toEqual(refused);
    const waiting = await request(round.requestState, { connect: { action: "accept" } });
    expect(waiting.content).toBeUndefined();
    await expect(attempt(tickets, ticket, "ann")).resolves.toMatchObject({ id: expect.any(String) });
  });

  it("it opens once, also when two tabs open it at the same moment", async () => {
    const { tickets, ticket } = await asked();
    const both = await Promise.allSettled([1, 2].map(() => attempt(tickets, ticket, "ann")));
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(attempt(tickets, ticket, "ann")).rejects.toEqual(refused);
  });

  it.each<[string, (ticket: string) => string]>([
    ["a changed character", (ticket) => ticket.replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
    ["cut short", (ticket) => ticket.slice(0, -4)],
    ["a made-up one", () => "AAAA"],
    ["no ticket", () => ""],
    ["something else", () => "../../etc/passwd"],
  ])("tampered: %s", async (_, edit) => {
    const { tickets, ticket } = await asked();
    await expect(attempt(tickets, edit(ticket), "ann")).rejects.toEqual(refused);
    await expect(attempt(tickets, ticket, "ann")).resolves.toBeDefined();
  });

  it("it is too old at the end of its time, and the call ends with url_incomplete", async () => {
    const { tickets, request, round, ticket, advance } = await asked(1_000);
    const waiting = await request(round.requestState, { connect: { action: "accept" } });
    advance(1_000);
    await expect(attempt(tickets, ticket, "ann")).rejects.toEqual(refused);
    await expect(request(waiting.requestState)).rejects.toThrow(/not finished within 1000 ms/);
  });

  it("E2 the link carries no readable user data, and each call's is another", async () => {
    const [one, two] = await Promise.all([asked(), asked()]);
    expect(Buffer.from(one.ticket, "base64url").toString("latin1")).not.toMatch(/ann|https:|app/);
    expect(one.ticket).not.toBe(two.ticket);
  });

  it("E6 a caller without a subject gets no link", async () => {
    const { request } = world();
    await expect(request(undefined, undefined, { ...ann, extra: {} })).rejects.toThrow(/authenticated caller/);
  });

  it("needs a ledger, and says so", () => {
    const parley = createParley({ keys: [KEY], callers: "anonymous" });
    expect(() => parley.tickets({ url: (ticket) => ticket })).toThrow(/option ledger/);
  });
});
