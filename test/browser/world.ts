/** An inbox with real servers behind it and a real browser before it. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { serveInbox } from "../../src/inbox/http/serve.ts";
import { createInbox, type Inbox } from "../../src/inbox/inbox.ts";
import type { InboxOptions } from "../../src/inbox/options.ts";
import { GUARD_MS } from "../../src/inbox/page/guard.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import type { AskingServer, Round } from "./asking.ts";

/** Wide enough for two busy cores; nothing waits this long when it works. */
const TIMEOUT_MS = 15_000;

export interface World {
  readonly inbox: Inbox;
  readonly url: string;
  link(): string;
  /** Starts a call to tool `ask` that runs these rounds; its id, once it waits. */
  ask(server: string, rounds: readonly Round[], script?: string): Promise<string>;
  /** Closes the inbox, as at the end of its process. */
  stop(): Promise<void>;
  /** Opens another on the same store and port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(
  servers: Record<string, AskingServer>,
  options: Partial<InboxOptions> = {},
): Promise<World> {
  const store = options.store ?? memoryPending();
  const open = async (port = 0) => {
    const inbox = createInbox({
      pacing: { initialMs: 50, factor: 1, maxMs: 50, jitter: 0 },
      pollMs: 50,
      ...options,
      store,
      servers,
    });
    return { inbox, http: await serveInbox(inbox, { port }) };
  };
  let now = await open();
  const { url } = now.http;
  const stop = async () => {
    await now.http.stop();
    await now.inbox.close();
  };
  let scripts = 0;
  return {
    get inbox() {
      return now.inbox;
    },
    url,
    link: () => now.http.link(),
    async ask(server, rounds, script) {
      scripts += 1;
      const name = script ?? `script-${scripts}`;
      servers[server]?.scripts.set(name, rounds);
      const started = await now.inbox.start(
        { server, method: "tools/call", target: "ask", arguments: { script: name } },
        "host",
      );
      await vi.waitFor(
        async () => {
          if ((await now.inbox.call(started.id)).state === "sending")
            throw new Error("The server has not answered yet.");
        },
        { timeout: TIMEOUT_MS, interval: 10 },
      );
      return started.id;
    },
    stop,
    async start() {
      now = await open(Number(new URL(url).port));
    },
    async close() {
      await stop();
      for (const server of Object.values(servers)) await server.close();
    },
  };
}

/** A page, and what must never have happened on it. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every address that was asked for outside the inbox. */
  readonly outside: string[];
  /** Script errors and everything the content security policy stopped. */
  readonly faults: string[];
  /** Opens a view, and waits until it takes answers. */
  show(view: string): Promise<void>;
  /** Waits until what is drawn takes answers (D2). */
  settled(): Promise<void>;
  press(button: string | RegExp): Promise<void>;
  close(): Promise<void>;
}

export async function openTab(
  browser: Browser,
  world: World,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<Tab> {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  const outside: string[] = [];
  const faults: string[] = [];
  // Whatever leaves the inbox's own origin is written down, and gets a stand-in for an answer.
  await context.route(
    (url) => url.origin !== world.url,
    (route) => {
      outside.push(route.request().url());
      return route.fulfill({ contentType: "text/html", body: "<title>Elsewhere</title>" });
    },
  );
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // The browser says so for every answer that is not 2xx; such answers are part of the tests.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // Time passes as usual, and in a leap where the page would only wait.
  await page.clock.install();
  await page.goto(world.link());
  const settled = async () => {
    await page.locator("h1").first().waitFor();
    await expect
      .poll(
        async () => {
          await page.clock.fastForward(GUARD_MS);
          return page.locator('[data-settled="false"]').count();
        },
        { timeout: TIMEOUT_MS, interval: 10 },
      )
      .toBe(0);
  };
  return {
    page,
    context,
    outside,
    faults,
    settled,
    async show(view) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, view);
      await page.locator("main .card, main article, main .notice").first().waitFor();
      await settled();
    },
    async press(button) {
      await settled();
      await page.getByRole("button", { name: button }).first().click();
    },
    close: () => context.close(),
  };
}

/** The rules that hold for every page, whatever was done on it (L7, T1, F5). */
export function expectClean(tab: Tab): void {
  expect(tab.faults).toEqual([]);
  expect(tab.outside).toEqual([]);
}

/** Everything a person can read on the page, and every element on it. */
export async function read(page: Page) {
  return page.evaluate(() => ({
    text: document.body.textContent,
    links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")),
    elements: [...document.body.querySelectorAll("*")].map((element) => element.localName),
  }));
}
