import { readdir, readFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { type AnyFlow, createParley, type Parley, type ParleyOptions } from "mcp-parley";
import { createCalls } from "mcp-parley/client";
import { memoryLedger } from "mcp-parley/ledger/memory";
import { accept, fakeClock, playFlow, startFlow } from "mcp-parley/testing";
import { afterEach, describe, expect, it } from "vitest";
import * as booking from "../../examples/booking/client.ts";
import * as bookingServer from "../../examples/booking/server.ts";
import * as connectAccount from "../../examples/connect-account/client.ts";
import * as connectAccountServer from "../../examples/connect-account/server.ts";
import * as deployApproval from "../../examples/deploy-approval/client.ts";
import * as deployApprovalServer from "../../examples/deploy-approval/server.ts";
import * as embeddedHost from "../../examples/embedded-host/client.ts";
import * as fourEyes from "../../examples/four-eyes/client.ts";
import * as fourEyesServer from "../../examples/four-eyes/server.ts";
import * as release from "../../examples/release/client.ts";
import * as releaseServer from "../../examples/release/server.ts";
import * as repositoryDeletion from "../../examples/repository-deletion/client.ts";
import * as repositoryDeletionServer from "../../examples/repository-deletion/server.ts";
import * as resourceThatAsks from "../../examples/resource-that-asks/client.ts";
import * as resourceThatAsksServer from "../../examples/resource-that-asks/server.ts";
import { connect, textOf } from "../../examples/shared/client.ts";
import * as summaryBySampling from "../../examples/summary-by-sampling/client.ts";
import * as summaryBySamplingServer from "../../examples/summary-by-sampling/server.ts";
import { serveHttp, type TestServer } from "../helpers/http.ts";

const KEY = Buffer.alloc(32, 7).fill(1, 0, 9);
const EXAMPLES = new URL("../../examples/", import.meta.url);
const TOKENS: Record<string, { subject: string; clientId: string; scopes: string[] }> = JSON.parse(
  await readFile(new URL("tokens.json", EXAMPLES), "utf8"),
);

/** What `parley serve` takes of a module. */
interface Served {
  readonly flows?: readonly AnyFlow[];
  readonly register?: (mcpServer: McpServer, parley: Parley) => unknown;
  readonly options?: ParleyOptions;
}

/** Rounds that wait are short here, so that one passes soon. */
let quick: ReturnType<typeof connectAccountServer.connectAccount> | undefined;
const quickConnectAccount: Served = {
  options: connectAccountServer.options,
  register: async (mcpServer, parley) => {
    quick ??= connectAccountServer.connectAccount(parley, { pollMs: 100 });
    parley.register(mcpServer, [await quick]);
  },
};

const STORIES: Record<string, Served & { check: (url: string) => Promise<void> }> = {
  "deploy-approval": { ...deployApprovalServer, ...deployApproval },
  "embedded-host": { ...deployApprovalServer, ...embeddedHost },
  "repository-deletion": { ...repositoryDeletionServer, ...repositoryDeletion },
  booking: { ...bookingServer, ...booking },
  "connect-account": { ...quickConnectAccount, check: connectAccount.check },
  "summary-by-sampling": { ...summaryBySamplingServer, ...summaryBySampling },
  release: { ...releaseServer, ...release },
  "four-eyes": { ...fourEyesServer, ...fourEyes },
  "resource-that-asks": { ...resourceThatAsksServer, ...resourceThatAsks },
};

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** As `parley serve --bearer-tokens examples/tokens.json` does. */
async function serve(name: string, { flows = [], register, options }: Served): Promise<string> {
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    onEvent: () => undefined,
    ...options,
  });
  server = await serveHttp(
    async () => {
      const mcp = new McpServer({ name, version: "1.0.0" });
      parley.register(mcp, flows);
      await register?.(mcp, parley);
      return mcp;
    },
    (token) => {
      const known = token === undefined ? undefined : TOKENS[token];
      return token !== undefined && known !== undefined
        ? { token, clientId: known.clientId, scopes: known.scopes, extra: { sub: known.subject } }
        : undefined;
    },
  );
  return server.url;
}

describe("every example checks itself over HTTP", () => {
  it.each(Object.entries(STORIES))("%s", async (name, { check, ...served }) => {
    await check(await serve(name, served));
  });

  it("every story's folder is run here and is in the README, and the lines the README quotes exist", async () => {
    const entries = await readdir(EXAMPLES, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const stories = folders.filter((name) => !["dist", "shared", "testing"].includes(name)).sort();
    expect(stories).toEqual(Object.keys(STORIES).sort());

    const readme = await readFile(new URL("README.md", EXAMPLES), "utf8");
    for (const story of stories) {
      const row = readme.split("\n").find((line) => line.startsWith(`| [${story}]`));
      const quoted = [...(row?.split("|")[3] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
      const files = (await readdir(new URL(story, EXAMPLES))).filter((file) => file !== "client.ts");
      const sources = await Promise.all(files.map((file) => readFile(new URL(`${story}/${file}`, EXAMPLES), "utf8")));
      expect(quoted.length, story).toBeGreaterThan(0);
      for (const line of quoted) expect(sources.join("\n"), story).toContain(line);
    }
  });
});

describe("connect-account: E6 C14 B37 a ticket is bound to its caller, and expires", () => {
  const { browse } = connectAccount;
  const TTL_MS = 60_000;

  async function asked() {
    const clock = fakeClock();
    const parley = createParley({ keys: [KEY], callers: "anonymous", ledger: memoryLedger(), now: clock.now });
    const flow = await connectAccountServer.connectAccount(parley, { ttlMs: TTL_MS, pollMs: 0 });
    const authInfo = { token: "t", clientId: "host", scopes: [], extra: { sub: "ada" } };
    const call = startFlow(flow, { authInfo, clock });
    const { questions } = await call.next();
    const url = (questions["connect"]?.params as { url: string } | undefined)?.url ?? "";
    return { clock, call, url };
  }

  it("the module's register makes one page for all requests, and a waiting request ends when it is done (E11)", async () => {
    const client = await connect(await serve("connect-account", connectAccountServer), { as: "ada" });
    const origins: string[] = [];
    let page: Promise<unknown> | undefined;
    const calls = createCalls(client, {
      server: "accounts",
      responders: {
        url: async ({ url }) => {
          origins.push(new URL(url).origin);
          if (origins.length === 2) page = browse(url, "ada");
          return origins.length === 2 ? accept() : { action: "decline" };
        },
      },
    });
    try {
      await calls.callTool({ name: "connect_account" });
      const connected = await calls.callTool({ name: "connect_account" });
      expect(textOf(connected)).toBe("The account of ada is connected.");
      expect(await page).toMatchObject({ status: 200 });
      expect(new Set(origins).size).toBe(1);
    } finally {
      await client.close();
    }
  });

  it("until it is done, rounds ask nothing (E12); Eve's and altered links change nothing", async () => {
    const { call, url } = await asked();
    const waiting = await call.next({ connect: accept() });
    expect(waiting).toMatchObject({ questions: {}, requestState: expect.any(String), result: undefined });
    const refusals = [await browse(url, "eve"), await browse(url.slice(0, -4), "ada"), await browse(`${url}A`, "ada")];
    for (const refusal of refusals) expect(refusal).toMatchObject({ status: 403, body: refusals[0]?.body });
    expect((await call.next()).result).toBeUndefined();
    expect(await browse(url, "ada")).toMatchObject({ status: 200 });
    expect((await call.next()).result).toMatchObject({ content: [{ text: "The account of ada is connected." }] });
  });

  it("a caller whom nobody authenticated gets no link (B10)", async () => {
    const parley = createParley({ keys: [KEY], callers: "anonymous", ledger: memoryLedger() });
    const { result } = await playFlow(await connectAccountServer.connectAccount(parley));
    expect(result).toMatchObject({ isError: true, content: [{ text: "Sign in to connect an account." }] });
  });

  it("opens until it expires and not after, and the call that only had the person's word ends", async () => {
    const { clock, call, url } = await asked();
    await call.next({ connect: accept() });
    clock.advance(TTL_MS);
    expect(await browse(url, "ada")).toMatchObject({ status: 403, body: expect.stringContaining("cannot be opened") });
    await expect(call.next()).rejects.toMatchObject({ code: "url_incomplete" });

    const other = await asked();
    other.clock.advance(TTL_MS - 1);
    expect(await browse(other.url, "ada")).toMatchObject({ status: 200 });
  });
});
