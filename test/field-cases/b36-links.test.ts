/** B36: a link opened unsafely, or "accepted" although nothing opened. */
import { createServer } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { terminalResponders } from "../../src/present/index.ts";
import { listen } from "../helpers/http.ts";
import { done, inOrder, interim, link, scripted } from "../unit/calls-peer.ts";
import { DOWN, ENTER, ESC, FakeTerminal, UP } from "../unit/present-fake-terminal.ts";

async function ask(url: string, openUrl: (href: string) => Promise<void>, ...keys: string[]) {
  const terminal = new FakeTerminal();
  const { input, output } = terminal;
  const peer = await scripted(inOrder(interim({ go: link(url) }, "s"), done()));
  const running = peer
    .calls({ responders: terminalResponders({ input, output, settleMs: 2, openUrl }) })
    .callTool({ name: "t" })
    .catch((error: Error) => error);
  if (keys.length > 0) await terminal.at("Visit this address?", ...keys);
  return {
    terminal,
    peer,
    running,
    answer: () => (peer.requests[1]?.params as { inputResponses?: object })?.inputResponses,
  };
}
const YES = [UP, UP, ENTER];

test("L8: an opener that throws is a cancel on the wire, never an accept", async () => {
  const { running, answer, terminal } = await ask(
    "https://a.example/",
    async () => Promise.reject(new Error("no browser")),
    ...YES,
  );
  await running;
  expect(answer()).toEqual({ go: { action: "cancel" } });
  expect(terminal.text).toContain("could not be opened");
});

test.each(["javascript:alert(1)", "file:///etc/passwd", "vbscript:x", "data:text/html,x"])(
  "E20: %s fails the call before anybody is asked",
  async (url) => {
    const openUrl = vi.fn(async () => {});
    const { running, terminal, peer } = await ask(url, openUrl);
    expect(await running).toMatchObject({ code: "invalid_interim" });
    expect(terminal.output.written).toBe("");
    expect(openUrl).not.toHaveBeenCalled();
    expect(peer.requests).toHaveLength(1);
  },
);

test.each([
  ["https://good.example@evil.example/", "The site: evil.example", "user name"],
  ["https://xn--pple-43d.example/", "reads “аpple.example”", "mixes alphabets"],
  ["http://127.0.0.1:1/", "The site: 127.0.0.1", "on this computer"],
])("L2 to L5: %s is asked about with what a person must know", async (url, site, warning) => {
  const { running, answer, terminal } = await ask(url, async () => {}, ESC);
  await running;
  expect(terminal.text).toContain(url);
  expect(terminal.text).toContain(site);
  expect(terminal.text).toContain(warning);
  expect(answer()).toEqual({ go: { action: "cancel" } });
});

describe("L7/E13: nothing is fetched before consent", () => {
  async function visited(...keys: string[]) {
    const hits: string[] = [];
    const http = createServer((req, res) => {
      hits.push(req.url ?? "");
      res.end();
    });
    const page = await listen(http);
    try {
      const opened = vi.fn(async (href: string) => void (await fetch(href)));
      const { running, answer, terminal } = await ask(page.url, opened, ...keys);
      if (keys.join() === YES.join()) {
        await vi.waitFor(() => expect(hits).toHaveLength(1));
        await terminal.at("Go on as soon", ENTER);
      }
      await running;
      return { hits, answer: answer(), opened: opened.mock.calls.flat(), url: page.url };
    } finally {
      await page.close();
    }
  }

  test.each([
    [[ESC], "cancel"],
    [[UP, ENTER], "decline"],
    [[DOWN, DOWN, DOWN, UP, UP, UP, ENTER], "cancel"],
  ])("without a yes, never", async (keys, action) => {
    expect(await visited(...keys)).toMatchObject({ hits: [], opened: [], answer: { go: { action } } });
  });

  test("with a yes, once, by the opener", async () => {
    const { hits, opened, url, answer } = await visited(...YES);
    expect(hits).toEqual(["/mcp"]);
    expect(opened).toEqual([url]);
    expect(answer).toEqual({ go: { action: "accept" } });
  });
});
