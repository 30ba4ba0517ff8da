import {
  type Client,
  type Progress,
  ProtocolError,
  type Result,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
} from "@modelcontextprotocol/client";
import { ParleyError, reasonOf } from "../errors.ts";
import type { LazySignal } from "../internal/lazy-signal.ts";
import { isTaskMethod, type TaskMethod } from "../protocol/tasks.ts";
import type { MrtrMethod } from "../protocol/types.ts";
import { directly } from "./direct.ts";
import { attach, mark, release, type Wire } from "./seam.ts";

/** One request as it goes out: original params, retry fields and `_meta` together. */
export interface LegRequest {
  readonly server: string;
  readonly method: MrtrMethod | TaskMethod;
  readonly params: Record<string, unknown>;
  /** Ends the leg: from outside, or from here when its response cannot come any more. */
  readonly scope: LazySignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly onUntyped: () => void;
}

/** `resultType` decides, before anything else is looked at (B1, B01). */
export type LegOutcome =
  | { readonly kind: "complete"; readonly result: Result }
  | { readonly kind: "interim" | "task"; readonly raw: Record<string, unknown> };

/** The response cannot come any more, though the request may have been acted on (B24). `cause` is what the transport threw, if it did. */
export class LostLeg extends Error {}

/** The JSON parser's error and the schema library's. */
const UNPARSED: ReadonlySet<string> = new Set(["SyntaxError", "ZodError"]);

/** The SDK's own timer is out of the way: the driver's clock ends a leg, through the signal. */
const NEVER_MS = 2_147_483_647;

/**
 * Sends one request and reads its answer. The SDK gives it a fresh id and, with `onProgress`, a fresh progress token
 * (B8, I1), and cancels it the way its transport asks for when `scope` ends (I5).
 *
 * @throws the SDK's ProtocolError for a JSON-RPC error of the server, ParleyError `invalid_result` for a result that
 * cannot be read, {@link LostLeg}, or whatever the transport threw.
 */
export async function sendLeg(client: Client, request: LegRequest): Promise<LegOutcome> {
  const modern = client.getProtocolEra() === "modern";
  const way = modern && request.onProgress === undefined ? directly(client) : client;
  const direct = way !== client;
  if (modern && !direct) attach(client);
  let lost = false;
  const onLost = (): void => {
    lost = true;
    request.scope.abort();
  };
  const wire: Wire = { scope: request.scope, onUntyped: request.onUntyped, onLost };
  try {
    const result = await dispatch(way, direct, request, wire);
    return wire.interim === undefined ? { kind: "complete", result } : { kind: "interim", raw: wire.interim };
  } catch (error) {
    // What the SDK made of an interim result does not count: it checks output schemas against it.
    if (wire.interim !== undefined) return { kind: "interim", raw: wire.interim };
    if (wire.task !== undefined) return { kind: "task", raw: wire.task };
    if (wire.unreadable) throw invalidResult(request, "the result is not an object", error);
    // The SDK's HTTP transport lets its own parsers' complaints about a response body through.
    if (error instanceof Error && UNPARSED.has(error.name)) {
      throw invalidResult(request, "the response is not a JSON-RPC message", error);
    }
    throw modern ? translate(error, wire, lost, request) : error;
  } finally {
    release(client, wire);
  }
}

function dispatch(client: Client, direct: boolean, request: LegRequest, wire: Wire): Promise<Result> {
  const { method, onProgress, scope } = request;
  const params = mark(request.params, wire);
  const options = {
    allowInputRequired: true,
    // Past the client, the leg itself knows its end.
    ...(!direct && { signal: scope.real }),
    timeout: NEVER_MS,
    ...(onProgress && { onprogress: onProgress }),
  };
  // Only `callTool` mirrors arguments into headers and checks structured content (B15, B27); it has no cache of
  // results. `readResource` has one, so everything else goes past it (J1, J6).
  if (method === "tools/call") return client.callTool(params as unknown as { name: string }, options);
  if (isTaskMethod(method)) return client.request({ method, params }, asIs, options);
  return client.request({ method, params }, options);
}

/** What a task's answers must be is checked where they are read. */
const asIs: StandardSchemaV1<unknown, Result> = {
  "~standard": { version: 1, vendor: "mcp-parley", validate: (value) => ({ value: value as Result }) },
};

function translate(error: unknown, wire: Wire, lost: boolean, request: LegRequest): unknown {
  if (wire.response === undefined && wire.id !== undefined && (lost || !request.scope.aborted)) {
    const message = "The response stream ended without a response.";
    if (lost) return new LostLeg(message);
    // fetch reports a network failure as a TypeError, our own transport by its code.
    const broken = error instanceof TypeError || (error instanceof ParleyError && error.code === "connection_lost");
    if (broken) return new LostLeg(message, { cause: error });
  }
  // The SDK's own complaints about schemas look like the server's errors (G14).
  const local = error instanceof ProtocolError && wire.response !== "error";
  const unreadable =
    error instanceof SdkError &&
    (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType);
  if (!local && !unreadable) return error;
  return invalidResult(request, reasonOf(error), error);
}

function invalidResult({ server, method }: LegRequest, reason: string, cause: unknown): ParleyError {
  return new ParleyError("invalid_result", `The result of ${method} from "${server}" cannot be used: ${reason}.`, {
    cause,
    details: { server, method },
  });
}
