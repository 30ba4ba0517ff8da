import type { CallToolResult, Client, GetPromptResult, ReadResourceResult } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { TASKS_EXTENSION } from "../protocol/tasks.ts";
import type { MrtrMethod } from "../protocol/types.ts";
import type { Call, CallOptions, CallParams } from "./call.ts";
import { capabilitiesOf } from "./capabilities.ts";
import type { CallSetting } from "./core.ts";
import { CallDriver } from "./driver.ts";
import { type CallsOptions, checkDuration, type ResolvedOptions, resolveOptions } from "./options.ts";
import { freezeParams } from "./params.ts";
import type { Responders } from "./responder.ts";
import { readSaved } from "./saved.ts";

/** Drives calls over one SDK client. */
export interface Calls {
  /** Calls a tool to its result, asking the responders on the way. A tool's own failure is a result (`isError`). */
  callTool(params: CallParams["tools/call"], options?: CallOptions): Promise<CallToolResult>;
  getPrompt(params: CallParams["prompts/get"], options?: CallOptions): Promise<GetPromptResult>;
  /** Never answered from, or kept in, a cache (J1, J6). */
  readResource(params: CallParams["resources/read"], options?: CallOptions): Promise<ReadResourceResult>;
  /** Sends the first request and hands back the call, asking or complete. */
  open<M extends MrtrMethod>(method: M, params: CallParams[M], options?: CallOptions): Promise<Call<M>>;
  /**
   * The call that `call.toJSON()` described, or its JSON text, as it was: nothing is sent yet. Of `options` the
   * call takes `signal`, `onProgress` and `legTimeoutMs`.
   * @throws ParleyError `invalid_resume` naming the field.
   */
  resume(saved: unknown, options?: Pick<CallOptions, "signal" | "onProgress" | "legTimeoutMs">): Call;
}

/**
 * Drives multi round-trip calls over a connected SDK client, as section B asks of a client. The client's own automatic
 * mode is not involved and its handlers are not called. Any number of calls may be in flight.
 *
 * Over a 2025-era connection a call is one request: such a server asks while it runs, through the handlers registered
 * on the SDK client, and this driver adds nothing to that.
 *
 * @throws ParleyError `configuration`, naming the option.
 */
export function createCalls(client: Client, options: CallsOptions): Calls {
  const resolved = resolveOptions(options);

  const settingFor = (
    responders: Responders,
    call: Omit<CallOptions, "meta" | "capabilities" | "onOpen">,
  ): CallSetting => {
    if (call.legTimeoutMs !== undefined) checkDuration("legTimeoutMs", call.legTimeoutMs);
    return {
      client,
      options: resolved,
      responders,
      legTimeoutMs: call.legTimeoutMs ?? resolved.legTimeoutMs,
      signal: call.signal,
      onProgress: call.onProgress,
    };
  };

  const open = <M extends MrtrMethod>(
    method: M,
    params: CallParams[M],
    call: CallOptions = {},
  ): Promise<CallDriver<M>> => {
    const { clock, totalTimeoutMs } = resolved;
    const responders = resolved.responders();
    const record = {
      callId: resolved.newCallId(),
      method,
      params: freezeParams(method, params, call.meta, bad),
      capabilities: {
        ...(call.capabilities === undefined ? capabilitiesOf(responders) : structuredClone(call.capabilities)),
        ...declaredBesides(method, resolved),
      },
      endBy: Number.isFinite(totalTimeoutMs) ? clock.now() + totalTimeoutMs : undefined,
      round: 0,
      restarted: false,
      startedOver: false,
      requestState: undefined,
      requests: new Map(),
      answers: new Map(),
      acceptedUrls: new Map(),
      answerBy: undefined,
      task: undefined,
    };
    const driver = new CallDriver<M>(settingFor(responders, call), record);
    call.onOpen?.(driver as Call);
    return driver.start();
  };

  const complete = async <M extends MrtrMethod>(method: M, params: CallParams[M], call?: CallOptions) =>
    (await open(method, params, call)).run();

  return {
    callTool: (params, call) => complete("tools/call", params, call),
    getPrompt: (params, call) => complete("prompts/get", params, call),
    readResource: (params, call) => complete("resources/read", params, call),
    open: async (method, params, call) => open(method, params, call),
    resume(saved, call = {}) {
      if (client.getProtocolEra() === "legacy") {
        const message = "The saved call cannot be resumed: this connection is of the 2025 era (K12).";
        throw new ParleyError("invalid_resume", message, { details: { field: "" } });
      }
      return new CallDriver(settingFor(resolved.responders(), call), readSaved(saved, resolved));
    },
  };
}

/** Tasks are declared where they are supported (H4); a host that declares capabilities itself declares them, too. */
function declaredBesides(method: MrtrMethod, { declare, tasks }: ResolvedOptions): ResolvedOptions["declare"] {
  if (!tasks || method !== "tools/call") return declare;
  return { ...declare, extensions: { [TASKS_EXTENSION]: {}, ...declare.extensions } };
}

function bad(name: string, rule: string, cause?: unknown): ParleyError {
  return new ParleyError("configuration", `The call cannot be made: ${name} ${rule}.`, {
    cause,
    details: { option: name },
  });
}
