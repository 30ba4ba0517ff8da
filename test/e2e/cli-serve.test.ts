import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { file, KEY, parley, type Serving, serving, YES } from "../helpers/cli.ts";
import { rpc } from "../helpers/http.ts";
import { good } from "../helpers/raw.ts";

const when = { action: "accept", content: { word: "now" } };

describe("parley serve", () => {
  let server: Serving;
  beforeAll(async () => {
    server = await serving("mixed.mjs");
  });
  afterAll(async () => {
    await server.stop();
  });

  it("prints one line with the URL, and says that callers are anonymous (B10)", async () => {
    expect(server.line).toMatch(/^Serving mixed at http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const lines = server.err().trimEnd().split("\n");
    expect(lines).toEqual([expect.stringMatching(/^parley: warning: callers are anonymous, so states are not bound/)]);
  });

  it("serves flows beside tools registered the usual way", async () => {
    expect((await rpc(server.url, "tools/call", { name: "plain" })).result).toMatchObject({
      content: [{ text: "plain as before" }],
    });
    expect((await rpc(server.url, "tools/call", { name: "asks" })).result).toMatchObject({
      resultType: "input_required",
    });
  });

  it.each([
    ["sdk", "mixed.mjs", "plain"],
    ["native", "single.mjs", "alone"],
  ])("G27 another Host or Origin is answered 403, other paths 404 (%s mount)", async (_, module, name) => {
    const server = await serving(module);
    const post = (headers: Record<string, string>) => rpc(server.url, "tools/call", { name }, { headers });
    expect((await post({})).status).toBe(200);
    expect((await post({ origin: "http://localhost:5000" })).status).toBe(200);
    expect((await post({ origin: "https://evil.example" })).status).toBe(403);
    expect((await post({ origin: "null" })).status).toBe(403);
    expect(await statusWithHost(server.url, "127.0.0.1")).not.toBe(403);
    expect(await statusWithHost(server.url, "rebound.example")).toBe(403);
    expect((await fetch(server.url.replace("/mcp", "/"), { method: "POST" })).status).toBe(404);
    await server.stop();
  });

  it("a flow that breaks a rule is said on stderr, with what its caller was told", async () => {
    const failing = await serving("failing.mjs");
    const told = await rpc(failing.url, "tools/call", { name: "twice" });
    expect(told.error).toMatchObject({ code: -32603, data: { reason: "duplicate_key" } });
    await rpc(failing.url, "tools/call", { name: "throws" });
    await failing.stop();
    expect(failing.err()).toMatch(/tools\/call twice failed: Key "k" is used twice/);
    expect(failing.err()).toMatch(/tools\/call throws failed: no disk/);
  });

  it("a module may export one flow alone", async () => {
    const single = await serving("single.mjs");
    expect((await rpc(single.url, "tools/call", { name: "alone" })).result).toMatchObject({
      content: [{ text: "alone" }],
    });
    await single.stop();
  });

  it("2: a port in use", async () => {
    const port = new URL(server.url).port;
    const { code, out, err } = await parley(["serve", "mixed.mjs", "--port", port]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/parley: cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): choose another --port or --host\n$/);
  });

  it("B44 2: no key in production; a warning otherwise; the same key on two replicas serves one call", async () => {
    const bare = { PARLEY_KEYS: undefined };
    const refused = await parley(["serve", "mixed.mjs", "--port", "0"], { ...bare, NODE_ENV: "production" });
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/^parley: No key to seal state with.+parley keygen.+\n$/);

    const [twin, stranger] = await Promise.all([serving("mixed.mjs"), serving("mixed.mjs", [], bare)]);
    try {
      expect(stranger.err()).toContain("No key given");
      const asked = await rpc(server.url, "tools/call", { name: "asks" });
      const retry = { name: "asks", requestState: asked.result?.["requestState"], inputResponses: { ok: YES } };
      expect((await rpc(twin.url, "tools/call", retry)).result).toMatchObject({ content: [{ text: "true" }] });
      expect((await rpc(stranger.url, "tools/call", retry)).error).toMatchObject({ code: -32_602 });
      expect(stranger.err()).toContain("a state was refused (unknown_key): tools/call asks");
    } finally {
      await Promise.all([twin.stop(), stranger.stop()]);
    }
  });

  it("ends with 0 on SIGINT", async () => {
    expect(await (await serving("mixed.mjs")).stop("SIGINT")).toBe(0);
  });
});

describe("--mount", () => {
  it("native by default: answers come with their length, as the SDK's do not; sdk when it is asked for", async () => {
    const lengths = await Promise.all(
      [[], ["--mount", "native"], ["--mount", "sdk"]].map(async (args) => {
        const server = await serving("single.mjs", args);
        const { status, headers } = await raw(server.url);
        await server.stop();
        return { status, length: headers.has("content-length") };
      }),
    );
    expect(lengths).toEqual([
      { status: 200, length: true },
      { status: 200, length: true },
      { status: 200, length: false },
    ]);
  });

  it("2: native cannot be had for a module that needs an McpServer, nor together with --stdio", async () => {
    const native = await parley(["serve", "mixed.mjs", "--port", "0", "--mount", "native"]);
    expect(native.code).toBe(2);
    expect(native.err).toBe(
      "parley: the module's export register needs an McpServer, which --mount native does not have: give --mount sdk, or export flows\n",
    );
    expect((await parley(["serve", "single.mjs", "--stdio", "--mount", "sdk"])).code).toBe(2);
    expect((await parley(["serve", "single.mjs", "--mount", "other"])).code).toBe(2);
  });
});

describe.each(["native", "sdk"])("--bearer-tokens, on the %s mount", (mount) => {
  const tokens = file({
    "alice-token": { subject: "alice", clientId: "cli", scopes: ["deploy"] },
    "bob-token": { subject: "bob", clientId: "cli" },
  });
  let server: Serving;
  beforeAll(async () => {
    server = await serving("flows.mjs", ["--bearer-tokens", tokens, "--mount", mount]);
  });
  afterAll(async () => {
    await server.stop();
  });
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it("C11 C22 the subject of the token is the caller; nothing is said about anonymous callers", async () => {
    const answers = file({ ok: YES, when, again: YES });
    const header = ["--header", "Authorization: Bearer alice-token"];
    const { code, out } = await parley(["call", server.url, "deploy", "--answers", answers, ...header]);
    expect({ code, out }).toEqual({ code: 0, out: "deployed now {} for alice\n" });
    expect(server.line).toMatch(/^Serving fixture at http/);
    expect(server.err()).toBe("noise from the module\n");
  });

  it("no token and a wrong one are 401 with a challenge; the command line says what to do, exit 4", async () => {
    for (const headers of [{}, { authorization: "Bearer nobody" }, { authorization: "Basic alice-token" }]) {
      const response = await fetch(server.url, { method: "POST", headers, body: "{}" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer error="invalid_token"/);
    }
    const { code, err } = await parley(["call", server.url, "deploy", "--header", "Authorization: Bearer nobody"]);
    expect(code).toBe(4);
    expect(err).toMatch(/does not accept this caller: give --header "Authorization: Bearer \.\.\."\n$/);
    expect(err).not.toContain("nobody");
  });

  it("B10 another caller's state is refused, and the operator is told why", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "deploy" }, as("alice-token"));
    const retry = { name: "deploy", requestState: asked.result?.["requestState"], inputResponses: { ok: YES, when } };
    const own = await rpc(server.url, "tools/call", retry, as("alice-token"));
    expect(own.result).toMatchObject({ resultType: "input_required", inputRequests: { again: {} } });
    const stolen = await rpc(server.url, "tools/call", retry, as("bob-token"));
    expect(stolen.error).toMatchObject({ code: -32_602, data: { reason: "invalid_request_state" } });
    await expect.poll(server.err).toContain("a state was refused (other_principal): tools/call deploy");
    expect(server.err()).not.toContain("alice-token");
    expect(server.err()).not.toContain(KEY);
  });

  it("SIGTERM lets a request in flight finish and takes no new one", async () => {
    const slow = rpc(server.url, "tools/call", { name: "slow" }, as("alice-token"));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const stopped = server.stop();
    expect((await slow).result).toMatchObject({ content: [{ text: "finished" }] });
    expect(await stopped).toBe(0);
    await expect(fetch(server.url)).rejects.toThrow();
  });
});

function raw(url: string): Promise<Response> {
  const { headers, body } = good("server/discover");
  const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return fetch(url, {
    method: "POST",
    headers: { ...usual, ...(headers as Record<string, string>) },
    body: JSON.stringify(body),
  });
}

/** fetch sets Host itself, so this goes by hand. */
async function statusWithHost(url: string, host: string): Promise<number | undefined> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    request(url, { method: "POST", headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end("{}");
  });
}
