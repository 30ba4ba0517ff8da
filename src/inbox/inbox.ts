import { randomBytes } from "node:crypto";
import { freezeParams } from "../calls/params.ts";
import { ParleyError } from "../errors.ts";
import { hasEnded, type PendingCall, type PendingDecision } from "../pending/call.ts";
import type { PendingSummary } from "../pending/contract.ts";
import { conclude, decide, expire, isExpired, withEvent } from "../pending/rules.ts";
import type { InputResponse } from "../protocol/types.ts";
import type { CallItem, CallView, DecisionRequest, InboxEvent, InboxView, StartRequest, ToolItem } from "./api.ts";
import { Carrier } from "./carrier.ts";
import { Connections } from "./connections.ts";
import { openQuestion, readDecision, refusal } from "./deciding.ts";
import { Events } from "./events.ts";
import { ModelRuns } from "./model-runs.ts";
import { type InboxOptions, type ResolvedInboxOptions, resolveInboxOptions } from "./options.ts";
import { toolItems } from "./tools.ts";
import { callItem, callView, isWaitingOnServer } from "./view.ts";
import { Watch } from "./watch.ts";

/** Calls on one page of {@link Inbox.view}. */
const PAGE = 50;

/** Calls that wait for people: started, shown, decided and carried on, whatever surface draws them. */
export interface Inbox {
  /** One page of calls. `after`: `next` of the page before. */
  view(after?: string): Promise<InboxView>;
  /** @throws ParleyError `unknown_call` */
  call(id: string): Promise<CallView>;
  /**
   * Writes the call down and sends its first request; resolves as soon as it is written down.
   * @throws ParleyError `limit_exceeded` when the store is full, `server_muted`, `configuration`. Nothing was sent then.
   */
  start(request: StartRequest, by: "person" | "host"): Promise<CallView>;
  /**
   * A person's decision on one question. The first one counts (D3).
   * @throws ParleyError `already_decided` with `details.decision`, `human_timeout`, `invalid_content` with
   * `details.fields`, `unanswerable`, `unknown_call`.
   */
  decide(call: string, question: string, decision: DecisionRequest): Promise<CallView>;
  /**
   * Ends the call; nothing is sent in anybody's name. A call that became a task ends once its server was told to cancel that;
   * stopped again, it ends at once. A call that is over stays as it is.
   */
  stop(call: string): Promise<CallView>;
  /** "Check now": asks a server that still waits for a link, or for itself, at once (L9). */
  check(call: string): Promise<CallView>;
  /** "Nothing more from this server" (F6): stops its calls and starts no new ones. No answer is sent. */
  mute(server: string, muted: boolean): Promise<InboxView>;
  /** What can be started. @throws what the connection reports. */
  tools(server: string): Promise<readonly ToolItem[]>;
  /** Told what changed, by this process and, a little later, by others that share the store. Returns the way out. */
  subscribe(listener: (event: InboxEvent) => void): () => void;
  /** Lets requests on their way finish for `graceMs`, and leaves the rest to whoever opens the store next. */
  close(): Promise<void>;
}

/**
 * Opens an inbox: calls that were waiting wait again, and those that were being carried on by a process that is gone
 * are taken over. The store stays its owner's to close.
 *
 * @throws ParleyError `configuration`, naming the option.
 */
export function createInbox(options: InboxOptions): Inbox {
  return new LastingInbox(resolveInboxOptions(options));
}

class LastingInbox implements Inbox {
  readonly #options: ResolvedInboxOptions;
  readonly #events = new Events();
  readonly #store: ResolvedInboxOptions["store"];
  readonly #connections: Connections;
  readonly #carrier: Carrier;
  readonly #models: ModelRuns;
  readonly #watch: Watch;

  constructor(options: ResolvedInboxOptions) {
    this.#options = options;
    this.#store = this.#events.watch(options.store);
    this.#connections = new Connections(options.servers, () => this.#events.emit({ type: "servers" }));
    this.#models = new ModelRuns(options, this.#store);
    const owner = randomBytes(9).toString("base64url");
    this.#carrier = new Carrier({ options, store: this.#store, connections: this.#connections, owner });
    const expire = (id: string) => this.#expire(id);
    this.#watch = new Watch({ options, store: this.#store, events: this.#events, carrier: this.#carrier, expire });
  }

  async view(after?: string): Promise<InboxView> {
    const [page, muted] = await Promise.all([this.#store.list(PAGE, after), this.#store.muted()]);
    return {
      ...page,
      servers: this.#connections.names.map((name) => this.#connections.item(name, muted.includes(name))),
      calls: await Promise.all(page.calls.map((summary) => this.#listed(summary))),
    };
  }

  /** What a task's server says of it stands in the call alone, which may be sealed. */
  async #listed(summary: PendingSummary): Promise<CallItem> {
    const call = summary.task === undefined || hasEnded(summary) ? undefined : await this.#store.get(summary.id);
    return callItem(summary, call);
  }

  async call(id: string): Promise<CallView> {
    return callView(await this.#get(id), this.#options);
  }

  async start(request: StartRequest, by: "person" | "host"): Promise<CallView> {
    const { server, method, target } = request;
    if (!this.#connections.has(server)) throw refused(`there is no server ${JSON.stringify(server)}`);
    if ((await this.#store.muted()).includes(server)) throw mutedServer(server);
    const id = randomBytes(16).toString("hex");
    const at = this.#options.clock.now();
    const call: PendingCall = {
      id,
      server,
      method,
      target,
      params: paramsOf(request),
      state: "sending",
      version: 1,
      round: 0,
      startedAt: at,
      changedAt: at,
      questions: [],
      history: [],
    };
    await this.#store.add(withEvent(call, at, { type: "started", by }));
    this.#carrier.carry(id);
    return this.call(id);
  }

  async decide(callId: string, questionId: string, request: DecisionRequest): Promise<CallView> {
    const call = await this.#fresh(callId);
    const question = openQuestion(call, questionId);
    if (request.action === "run") {
      await this.#models.start(call, questionId, request.params);
      return this.call(callId);
    }
    const { action, response } = readDecision(call, question, request, this.#options);
    await this.#decided(call, questionId, action, response);
    return this.call(callId);
  }

  async stop(callId: string): Promise<CallView> {
    await this.#end(callId, "A person stopped the call; no answer is sent.");
    return this.call(callId);
  }

  async check(callId: string): Promise<CallView> {
    const call = await this.#fresh(callId);
    if (!isWaitingOnServer(call)) throw new ParleyError("call_state", "This call does not wait for its server.");
    if (call.state === "waiting") {
      const open = call.questions.filter(({ decision }) => decision === undefined);
      for (const { id } of open) await this.#decided(call, id, "accept", { action: "accept" });
      return this.call(callId);
    }
    // A request that got lost, or did not get through, goes out again because a person says so.
    await this.#store.update(callId, (one) => {
      const { pause, ...rest } = one;
      const idle = one.state === "sending" && one.claim === undefined && pause !== undefined;
      return idle ? { call: rest, value: undefined } : { value: undefined };
    });
    this.#carrier.hurry(callId);
    this.#carrier.carry(callId);
    return this.call(callId);
  }

  async mute(server: string, muted: boolean): Promise<InboxView> {
    if (!this.#connections.has(server)) throw refused(`there is no server ${JSON.stringify(server)}`);
    await this.#store.mute(server, muted);
    if (muted) await this.#silence(server);
    return this.view();
  }

  async tools(server: string): Promise<readonly ToolItem[]> {
    if (!this.#connections.has(server)) throw refused(`there is no server ${JSON.stringify(server)}`);
    return toolItems(this.#connections, server);
  }

  subscribe(listener: (event: InboxEvent) => void): () => void {
    return this.#events.subscribe(listener);
  }

  async close(): Promise<void> {
    await this.#watch.close();
    await Promise.all([this.#carrier.close(), this.#models.close()]);
    await this.#connections.close();
  }

  async #get(id: string): Promise<PendingCall> {
    const call = await this.#store.get(id);
    if (call === undefined) throw new ParleyError("unknown_call", "There is no such call.");
    return call;
  }

  /** The call as it is; one whose time is over has expired now. */
  async #fresh(id: string): Promise<PendingCall> {
    const call = await this.#get(id);
    if (!isExpired(call, this.#options.clock.now())) return call;
    await this.#expire(id);
    return this.#get(id);
  }

  async #decided(
    call: PendingCall,
    questionId: string,
    action: PendingDecision["action"],
    response: InputResponse | undefined,
  ): Promise<void> {
    const at = this.#options.clock.now();
    const decision = { action, by: { type: "person" }, at } as const;
    const verdict = await this.#store.update(call.id, (one) => decide(one, questionId, decision, response));
    if (verdict?.type !== "won") throw refusal(verdict ?? { type: "unknown" });
    if (action === "refuse") this.#models.drop(call);
    this.#carrier.carry(call.id);
  }

  async #end(id: string, reason: string): Promise<void> {
    const call = await this.#get(id);
    const at = this.#options.clock.now();
    await this.#store.update(id, (one) =>
      hasEnded(one) ? { value: undefined } : { call: conclude(one, at, "stopped", reason), value: undefined },
    );
    this.#carrier.drop(id);
    this.#carrier.carry(id);
    this.#models.drop(call);
  }

  async #expire(id: string): Promise<void> {
    const at = this.#options.clock.now();
    await this.#store.update(id, (call) =>
      isExpired(call, at) ? { call: expire(call, at), value: undefined } : { value: undefined },
    );
  }

  /** Page by page: ended calls come after the others, so the first page of them is the end. */
  async #silence(server: string): Promise<void> {
    const reason = "A person wants to hear nothing more from this server; no answer was sent.";
    const live: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await this.#store.list(200, after);
      const going = page.calls.filter((call) => !hasEnded(call));
      live.push(...going.filter((call) => call.server === server).map(({ id }) => id));
      if (page.next === undefined || going.length < page.calls.length) break;
      after = page.next;
    }
    for (const id of live) await this.#end(id, reason);
  }
}

/** As the driver would take them, so that what it cannot send is refused before it is written down. */
function paramsOf({ method, target, arguments: given }: StartRequest): PendingCall["params"] {
  const named = method === "resources/read" ? { uri: target } : { name: target };
  const params = { ...named, ...(given !== undefined && { arguments: given }) };
  return freezeParams(method, params, undefined, (field, rule) => refused(`${field} ${rule}`));
}

function refused(what: string): ParleyError {
  return new ParleyError("configuration", `The call cannot be started: ${what}.`);
}

function mutedServer(server: string): ParleyError {
  return new ParleyError("server_muted", `"${server}" is muted. Nothing was sent.`);
}
