import { onTestFinished } from "vitest";
import { type CallEvent, type CallsOptions, createCalls, type Responders } from "../../../src/client.ts";
import { type AnyFlow, createParley, type ParleyEvent, type ParleyOptions } from "../../../src/index.ts";
import { connect } from "../../helpers/http.ts";
import { type Mount, serveFlows } from "../../helpers/mounts.ts";

export const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
export const accept = (content: Record<string, string | number | boolean | string[]> = {}) => ({
  action: "accept" as const,
  content,
});
const KEY = Buffer.from("0123456789abcdef0123456789abcdef");

/** Both halves of Parley over real HTTP: flows on one side, drivers of any caller on the other. */
export async function pair(mount: Mount, flows: readonly AnyFlow[], options: ParleyOptions = {}) {
  const served: ParleyEvent[] = [];
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    onEvent: (event) => served.push(event),
    ...options,
  });
  const callers = (token: string | undefined) =>
    token === undefined ? undefined : { token, clientId: "app", scopes: [], extra: { iss: "https://id", sub: token } };
  const server = await serveFlows(mount, parley, flows, { name: "pair", callers });
  onTestFinished(() => server.close());

  /** A host on a connection of its own, as `who` says. */
  const host = async (responders: Responders, who?: string, more: Partial<CallsOptions> = {}) => {
    const client = await connect(server.url, {}, who === undefined ? {} : { authorization: `Bearer ${who}` });
    onTestFinished(() => client.close());
    const seen: CallEvent[] = [];
    const onEvent = (event: CallEvent) => void seen.push(event);
    const calls = createCalls(client, { server: "pair", responders, onEvent, ...more });
    return { calls, legs: () => seen.filter(({ type }) => type === "leg").length, seen };
  };
  const refusals = () => served.flatMap((event) => (event.type === "state_refused" ? [event.reason] : []));
  return { url: server.url, host, served, refusals };
}
