/** Who gets at the inbox, and what every response carries. Each refusal stands beside what works but for one change. */
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { serveInbox } from "../../src/inbox/http/serve.ts";
import { createInbox } from "../../src/inbox/inbox.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import { Browser, raw } from "./inbox-browser.ts";
import { world } from "./inbox-world.ts";

const codeOf = ({ body }: { body: unknown }) => (body as { error?: { code?: string } } | undefined)?.error?.code;

describe("inbox over HTTP", () => {
  it("the one-time link opens once, and only once; a HEAD or a wrong token does not use it up", async () => {
    const { link, url } = await world();
    const one = link();
    expect((await raw(one, { method: "HEAD" })).status).toBe(401);
    expect((await raw(`${url}/open/${"A".repeat(43)}`)).status).toBe(403);
    const opened = await raw(one);
    expect([opened.status, opened.headers["location"]]).toEqual([303, "/"]);
    expect(String(opened.headers["set-cookie"])).toMatch(
      /^parley-inbox-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/,
    );
    const again = await raw(one);
    expect([again.status, again.headers["set-cookie"]]).toEqual([403, undefined]);
    expect((await Browser.open(link())).csrf, "another link is another session").not.toBe("");
  });

  it("a browser without a session, or with a used link, is told why on a page, under the same policy", async () => {
    const { link, url } = await world();
    const one = link();
    await raw(one);
    for (const [address, status, why] of [
      [one, 403, "This link was used already."],
      [`${url}/`, 401, "Open the link that was printed where the inbox was started."],
    ] as const) {
      const asJson = await raw(address);
      const asPage = await raw(address, { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
      expect([asPage.status, asPage.headers["content-type"]]).toEqual([status, "text/html; charset=utf-8"]);
      expect(asPage.text).toContain(`<p>${why}`);
      expect(asPage.headers["content-security-policy"]).toBe(asJson.headers["content-security-policy"]);
      expect(asPage.headers["content-security-policy"]).toContain("default-src 'none'");
      expect([asJson.status, asJson.headers["content-type"]]).toEqual([status, "application/json"]);
    }
    const post = await raw(`${url}/api/calls`, { method: "POST", headers: { accept: "text/html" } });
    expect(post.headers["content-type"], "only what is visited").toBe("application/json");
  });

  it("every route needs the session's cookie, and none says more without it", async () => {
    const { browser, url } = await world();
    const page = await browser();
    const { id } = await page.asked("desk", "confirm");
    const paths = [
      "/",
      "/app.js",
      "/app.css",
      "/api/session",
      "/api/inbox",
      "/api/events",
      `/api/calls/${id}`,
      "/api/servers/desk/tools",
    ];
    for (const path of paths) {
      if (path !== "/api/events") expect([200, 503], path).toContain((await page.get(path)).status);
      for (const cookie of [
        "",
        page.cookie.replace(/=.*/, "="),
        `${page.cookie}x`,
        page.cookie.replace("parley", "other"),
      ]) {
        const reply = await raw(url + path, { headers: { cookie } });
        expect([reply.status, codeOf(reply)], `${path} with ${cookie}`).toEqual([401, "unauthorized"]);
        expect(reply.text).not.toContain("confirm");
      }
    }
    const post = await raw(`${url}/api/calls/${id}/stop`, { method: "POST", headers: { ...page.headers, cookie: "" } });
    expect(post.status).toBe(401);
    expect((await page.inbox()).waiting, "nothing was done").toBe(1);
  });

  describe("a POST", () => {
    const send = async (headers: Record<string, string | undefined>, body = '{"muted":false}') => {
      const { browser, url } = await world();
      const all = { ...(await browser()).headers, ...headers };
      const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      return raw(`${url}/api/servers/desk/mute`, { method: "POST", headers: given as Record<string, string>, body });
    };

    it("goes through as the page sends it", async () => expect((await send({})).status).toBe(200));
    it.each([
      ["without the token", { "x-parley-csrf": undefined }, 403],
      ["with a wrong token", { "x-parley-csrf": "A".repeat(43) }, 403],
      ["without an origin", { origin: undefined }, 403],
      ["from another origin", { origin: "http://evil.example" }, 403],
      ["from another port", { origin: "http://127.0.0.1:1" }, 403],
      ["from a file", { origin: "null" }, 403],
      ["from a page of another site", { "sec-fetch-site": "cross-site" }, 403],
      ["from another port's page", { "sec-fetch-site": "same-site" }, 403],
      ["as a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
      ["as text", { "content-type": "text/plain" }, 415],
    ])("is refused %s", async (_name, headers, status) => {
      const reply = await send(headers as Record<string, string | undefined>);
      expect([reply.status, typeof codeOf(reply)]).toEqual([status, "string"]);
    });
    it.each([
      ["that is not JSON", "{", 400],
      ["that is no object", "[1]", 400],
      ["with another member", '{"muted":"yes"}', 400],
      ["larger than 2 MiB", JSON.stringify({ muted: false, more: "x".repeat(2 * 1024 * 1024) }), 413],
    ])("is refused with a body %s", async (_name, body, status) => expect((await send({}, body)).status).toBe(status));
  });

  it("DNS rebinding: another site's name for this address is refused, on reads and on the link too", async () => {
    const { browser, link, url } = await world();
    const page = await browser();
    const { port } = new URL(url);
    const read = (host: string) => raw(`${url}/api/inbox`, { headers: { cookie: page.cookie, host } });
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`]) {
      expect((await read(host)).status, host).toBe(200);
    }
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      `127.0.0.1.evil.example:${port}`,
      "127.0.0.1:1",
    ]) {
      expect((await read(host)).status, host).toBe(421);
    }
    const one = link();
    expect((await raw(one, { headers: { host: `evil.example:${port}` } })).status).toBe(421);
    expect((await raw(one)).status, "and is not used up by that").toBe(303);
  });

  it("reads are refused to pages of other ports, which a browser would send the cookie for", async () => {
    const { browser, url } = await world();
    const page = await browser();
    const read = (more: Record<string, string>) =>
      raw(`${url}/api/inbox`, { headers: { cookie: page.cookie, ...more } });
    expect((await read({ "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await read({ "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" })).status).toBe(403);
    expect((await read({ origin: "http://127.0.0.1:1" })).status).toBe(403);
    const visit = (path: string) =>
      raw(url + path, {
        headers: { cookie: page.cookie, "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" },
      });
    expect([200, 503], "a link to the page may be followed").toContain((await visit("/")).status);
    expect((await visit("/api/inbox")).status).toBe(403);
    expect((await visit("/api/events")).status, "nor is a listener's place taken").toBe(403);
  });

  it("a cookie of that name that another port set, before or behind it, locks nobody out and opens nothing", async () => {
    const { browser, url } = await world();
    const { cookie } = await browser();
    const tossed = cookie.replace(/=.*/, `=${"A".repeat(43)}`);
    const status = async (all: string) => (await raw(`${url}/api/inbox`, { headers: { cookie: all } })).status;
    expect(await status(cookie)).toBe(200);
    expect(await status(`${tossed}; ${cookie}`)).toBe(200);
    expect(await status(`${cookie}; ${tossed}`)).toBe(200);
    expect(await status(`${tossed}; ${tossed}`)).toBe(401);
  });

  it("an address that is none is the sender's fault: refused, and not reported as a fault of this program", async () => {
    const { url, errors } = await world();
    const { port } = new URL(url);
    for (const target of ["//[", "http://[", "//:99999/"]) {
      const reply = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), "127.0.0.1", () => {
          socket.write(`GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
        });
        let text = "";
        socket.on("data", (chunk) => {
          text += chunk;
        });
        socket.on("end", () => resolve(text)).on("error", reject);
      });
      expect(reply, target).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(errors).toEqual([]);
  });

  it("every response has the policy that lets nothing of another place in, and is kept nowhere", async () => {
    const { browser, url, link } = await world();
    const page = await browser();
    const replies = [
      await raw(link()),
      await page.get("/"),
      await page.get("/api/inbox"),
      await page.get("/nothing"),
      await page.post("/api/calls/nothing/stop"),
      await raw(`${url}/api/inbox`),
    ];
    expect(replies.map(({ status }) => status).filter((status) => status >= 400).length).toBeGreaterThan(2);
    for (const { headers } of replies) {
      const csp = String(headers["content-security-policy"]).split("; ").sort();
      expect(csp).toEqual(
        [
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self'",
          "form-action 'none'",
          "frame-ancestors 'none'",
          "base-uri 'none'",
        ].sort(),
      );
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
      });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  it("serves the page's three files and nothing beside them", async () => {
    const { browser } = await world();
    const page = await browser();
    for (const path of [
      "/../package.json",
      "/%2e%2e/package.json",
      "/app.js.map",
      "/index.html",
      "/api",
      "/constructor",
      "/__proto__",
    ]) {
      expect((await page.get(path)).status, path).toBe(404);
    }
  });

  it("unknown calls, questions and servers, and malformed paths, are said and change nothing", async () => {
    const { browser } = await world();
    const page = await browser();
    const call = await page.asked("desk", "confirm");
    const accept = { action: "accept", content: { yes: true } };
    expect((await page.get("/api/calls/none")).status).toBe(404);
    expect((await page.post(`/api/calls/${call.id}/questions/r9-9`, accept)).status).toBe(404);
    expect((await page.post(`/api/calls/${call.id}/questions/r1-0`, { action: "agree" })).status).toBe(400);
    expect((await page.post(`/api/calls/${call.id}/questions/r1-0`, { action: "accept", content: "yes" })).status).toBe(
      422,
    );
    expect((await page.post("/api/servers/none/mute", { muted: true })).status).toBe(422);
    expect((await page.get("/api/inbox?after=nonsense")).status).toBe(422);
    expect((await page.get("/api/calls/%E0%A4%A")).status).toBe(400);
    for (const wrong of [
      {},
      { server: 1 },
      { server: "desk", method: "tools/list", target: "x" },
      { server: "desk", method: "tools/call" },
    ]) {
      expect((await page.post("/api/calls", wrong)).status).toBe(400);
    }
    expect((await page.post("/api/calls", { server: "none", method: "tools/call", target: "x" })).status).toBe(422);
    expect((await page.inbox()).calls).toHaveLength(1);
  });

  it("listeners are bounded, and leave nothing behind", async () => {
    const { browser } = await world();
    const page = await browser();
    const open = await Promise.all(Array.from({ length: 32 }, () => page.events()));
    expect((await page.get("/api/events")).status).toBe(503);
    for (const { stop } of open) stop();
    await expect
      .poll(async () => {
        const response = await fetch(`${page.base}/api/events`, { headers: { cookie: page.cookie } });
        await response.body?.cancel();
        return response.status;
      })
      .toBe(200);
  });

  it("listeners that ask one behind another on one connection take no places that its end does not give back", async () => {
    const { browser, url } = await world();
    const page = await browser();
    const { port } = new URL(url);
    const one = `GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${page.cookie}\r\n\r\n`;
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(one.repeat(32)));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    const open = await Promise.all(Array.from({ length: 31 }, () => page.events()));
    const status = async () => {
      const response = await fetch(`${url}/api/events`, { headers: { cookie: page.cookie } });
      await response.body?.cancel();
      return response.status;
    };
    await expect.poll(status).toBe(200);
    for (const { stop } of open) stop();
  });

  it("a fault of the inbox is reported where it runs, and the browser learns nothing of it", async () => {
    const store = memoryPending();
    const broken = { ...store, list: () => Promise.reject(new Error("disk on fire at /private/path")) };
    const { browser, errors } = await world({ store: broken });
    const page = await browser();
    const reply = await page.get("/api/inbox");
    expect([reply.status, codeOf(reply)]).toEqual([500, "failed"]);
    expect(reply.text).not.toContain("private");
    expect(errors.map(String).join()).toContain("disk on fire");
  });

  it("does not listen where no name can be checked", async () => {
    const inbox = createInbox({
      store: memoryPending(),
      servers: { desk: { connect: () => Promise.reject(new Error()) } },
    });
    for (const host of ["0.0.0.0", "::"]) {
      await expect(serveInbox(inbox, { host })).rejects.toMatchObject({ code: "configuration" });
    }
    await inbox.close();
  });
});
