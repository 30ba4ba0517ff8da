/** An inbox in this process with its page's server, over real HTTP, in front of a hand-written server. */
import { onTestFinished } from "vitest";
import { serveInbox } from "../../src/inbox/http/serve.ts";
import { createInbox, type Inbox } from "../../src/inbox/inbox.ts";
import type { InboxOptions } from "../../src/inbox/options.ts";
import type { PendingStore } from "../../src/pending/contract.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import { connect } from "../helpers/http.ts";
import { Browser } from "./inbox-browser.ts";
import { type HandServer, handServer } from "./inbox-server.ts";

export interface World {
  readonly server: HandServer;
  readonly store: PendingStore;
  readonly inbox: Inbox;
  /** `http://host:port` of the page. */
  readonly url: string;
  readonly link: () => string;
  readonly errors: unknown[];
  /** A browser with a session of its own. */
  browser(): Promise<Browser>;
}

export interface WorldOptions extends Partial<InboxOptions> {
  /** Default: one of its own. */
  readonly server?: HandServer;
}

/** The server is named `desk` in the inbox. */
export async function world({ server: given, ...options }: WorldOptions = {}): Promise<World> {
  const server = given ?? (await handServer());
  if (given === undefined) onTestFinished(() => server.close());
  const store = options.store ?? memoryPending();
  const errors: unknown[] = [];
  const inbox = createInbox({
    pollMs: 20,
    pacing: { initialMs: 20, maxMs: 50 },
    onError: (error) => errors.push(error),
    ...options,
    store,
    servers: { desk: { connect: () => connect(server.url) }, ...options.servers },
  });
  const serving = await serveInbox(inbox, { onError: (error) => errors.push(error) });
  onTestFinished(async () => {
    await serving.stop();
    await inbox.close();
  });
  return {
    server,
    store,
    inbox,
    url: serving.url,
    link: () => serving.link(),
    errors,
    browser: () => Browser.open(serving.link()),
  };
}
