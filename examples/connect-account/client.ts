/**
 * Checks the story over HTTP: Ada's call asks once and then waits, and only Ada's browser can complete her link. Eve's
 * browser, an altered link, a used one and a replayed callback are turned away. The credential stays off the wire.
 * Run: npx vitest run test/e2e/examples.test.ts -t connect-account
 */
import assert from "node:assert/strict";
import {
  type CallEvent,
  createCalls,
  type ElicitResult,
  type ElicitUrlParams,
  type QuestionContext,
} from "mcp-parley/client";
import { accept, decline } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

type UrlResponder = (params: ElicitUrlParams, context: QuestionContext) => Promise<ElicitResult>;

export async function check(url: string): Promise<void> {
  const wire: string[] = [];
  const recorded: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    wire.push(await response.clone().text());
    return response;
  };
  const ada = await connect(url, { as: "ada", fetch: recorded });
  const connectAs = (responder: UrlResponder, onEvent: (event: CallEvent) => void = () => undefined) =>
    createCalls(ada, { server: "accounts", responders: { url: responder }, onEvent }).callTool({
      name: "connect_account",
    });

  try {
    const declined = await connectAs(async () => decline());
    assert.equal(declined.isError, true);

    let link = "";
    let adas: Promise<Visit> | undefined;
    const agree: UrlResponder = async (params) => {
      assert.equal(link, "", "the call asks once");
      link = params.url;
      assert.equal((await browse(link)).status, 401, "the link alone is no way in");
      const eves = await browse(link, "eve");
      assert.equal(eves.status, 403, "Eve cannot complete Ada's link");
      assert.equal(new URL(eves.url).pathname, "/connect", "and does not get as far as the provider");
      const forged = await browse(altered(link), "ada");
      assert.deepEqual([forged.status, forged.body], [403, eves.body], "one message for all: a guess learns nothing");
      return accept();
    };
    const connected = await connectAs(agree, (event) => {
      // Agreed, and not done: the call waits by a round that asks nothing. Now Ada goes to the page.
      if (event.type === "interim" && event.questions.length === 0) adas ??= browse(link, "ada");
    });
    assert.equal(textOf(connected), "The account of ada is connected.");
    const done = await adas;
    assert.equal(done?.status, 200, "after a round that only waited");
    assert.equal((await browse(link, "ada")).status, 403, "a link opens once");
    assert.equal((await browse(done.url, "ada")).status, 403, "an answer of the provider counts in its own session");
    assert.equal((await visit(done.url, done.cookie)).status, 403, "and once");
    assert.ok(!wire.join().includes("provider-credential"), "the credential never passes the client");

    const again = await connectAs(async () => assert.fail("nothing to ask any more"));
    assert.equal(textOf(again), "The account of ada is connected already.");
  } finally {
    await ada.close();
  }
}

function altered(link: string): string {
  const url = new URL(link);
  const ticket = url.searchParams.get("ticket") ?? "";
  url.searchParams.set("ticket", (ticket.startsWith("A") ? "B" : "A") + ticket.slice(1));
  return url.href;
}

/** Where a browser ended, and with what. */
interface Visit {
  readonly status: number;
  readonly url: string;
  readonly body: string;
  readonly cookie: string;
}

/** A new browser: signs `user` in at the page's site, then follows `link`. */
export async function browse(link: string, user?: string): Promise<Visit> {
  if (user === undefined) return visit(link, "");
  const body = new URLSearchParams({ user });
  const signedIn = await fetch(new URL("/sign-in", link), { method: "POST", body, redirect: "manual" });
  return visit(link, signedIn.headers.get("set-cookie")?.split(";")[0] ?? "");
}

async function visit(link: string, cookie: string): Promise<Visit> {
  for (let at = new URL(link); ; ) {
    const response = await fetch(at, { redirect: "manual", headers: { cookie } });
    const location = response.headers.get("location");
    if (location === null) return { status: response.status, url: at.href, body: await response.text(), cookie };
    at = new URL(location, at);
  }
}
