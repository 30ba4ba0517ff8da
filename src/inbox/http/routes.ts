/** The routes of `api.ts`. A table of twelve needs no router of its own. */

import { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import { inert } from "../../present/text.ts";
import { MRTR_METHODS, type MrtrMethod } from "../../protocol/types.ts";
import type { DecisionRequest, Session, StartRequest, ToolItem } from "../api.ts";
import { reasonText } from "../failures.ts";
import type { Inbox } from "../inbox.ts";
import { HttpProblem, problem } from "./problems.ts";
import type { OpenSession } from "./sessions.ts";

export interface RouteContext {
  readonly inbox: Inbox;
  readonly session: OpenSession;
  /** Path parameters, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** Reads the body: a JSON object. */
  readonly body: () => Promise<Record<string, unknown>>;
}

export interface Route {
  readonly method: "GET" | "POST";
  readonly pattern: RegExp;
  readonly status?: number;
  readonly run: (context: RouteContext) => Promise<unknown>;
}

export const ROUTES: readonly Route[] = [
  {
    method: "GET",
    pattern: /^\/api\/session$/,
    run: async ({ session }): Promise<Session> => ({ csrf: session.csrf, now: Date.now() }),
  },
  {
    method: "GET",
    pattern: /^\/api\/inbox$/,
    run: ({ inbox, query }) => inbox.view(query.get("after") ?? undefined),
  },
  { method: "GET", pattern: /^\/api\/calls\/([^/]+)$/, run: ({ inbox, path }) => inbox.call(at(path, 0)) },
  {
    method: "POST",
    pattern: /^\/api\/calls$/,
    status: 201,
    run: async ({ inbox, body }) => inbox.start(readStart(await body()), "person"),
  },
  {
    method: "POST",
    pattern: /^\/api\/calls\/([^/]+)\/questions\/([^/]+)$/,
    run: async ({ inbox, path, body }) => inbox.decide(at(path, 0), at(path, 1), readDecision(await body())),
  },
  { method: "POST", pattern: /^\/api\/calls\/([^/]+)\/stop$/, run: ({ inbox, path }) => inbox.stop(at(path, 0)) },
  { method: "POST", pattern: /^\/api\/calls\/([^/]+)\/check$/, run: ({ inbox, path }) => inbox.check(at(path, 0)) },
  {
    method: "POST",
    pattern: /^\/api\/servers\/([^/]+)\/mute$/,
    run: async ({ inbox, path, body }) => {
      const { muted } = await body();
      if (typeof muted !== "boolean") throw problem(400, "invalid_request", "muted must be true or false.");
      return inbox.mute(at(path, 0), muted);
    },
  },
  {
    method: "GET",
    pattern: /^\/api\/servers\/([^/]+)\/tools$/,
    run: ({ inbox, path }) => tools(inbox, at(path, 0)),
  },
];

async function tools(inbox: Inbox, server: string): Promise<readonly ToolItem[]> {
  try {
    return await inbox.tools(server);
  } catch (error) {
    if (error instanceof ParleyError && error.code === "configuration") throw error;
    throw new HttpProblem(502, { code: "unreachable", message: inert(reasonText(server, error), 500) });
  }
}

function at(path: readonly string[], index: number): string {
  return path[index] as string;
}

function readStart({ server, method, target, arguments: given }: Record<string, unknown>): StartRequest {
  if (typeof server !== "string") throw problem(400, "invalid_request", "server must be text.");
  if (!MRTR_METHODS.includes(method as MrtrMethod)) {
    throw problem(400, "invalid_request", "method must be one that can ask.");
  }
  if (typeof target !== "string") throw problem(400, "invalid_request", "target must be text.");
  if (given !== undefined && !isObject(given)) throw problem(400, "invalid_request", "arguments must be an object.");
  return { server, method: method as MrtrMethod, target, ...(given !== undefined && { arguments: given }) };
}

const ACTIONS = ["accept", "decline", "cancel", "run", "send", "refuse"];

/** The members of the action are judged with the question (what they must be depends on it). */
function readDecision(body: Record<string, unknown>): DecisionRequest {
  const { action } = body;
  if (typeof action !== "string" || !ACTIONS.includes(action)) {
    throw problem(400, "invalid_request", "action must be accept, decline, cancel, run, send or refuse.");
  }
  return body as DecisionRequest;
}
