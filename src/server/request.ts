import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Flow, Progress } from "../flow/types.ts";
import type { ClientCapabilities, MrtrMethod } from "../protocol/types.ts";
import type { RunSignal } from "../replay/signal.ts";

/** One request for a flow, whatever serves it. */
export interface RoundRequest {
  readonly method: MrtrMethod;
  /** Tool or prompt name, or resource URI. */
  readonly target: string;
  /** The request's params as they came; the state is bound to them (C7). */
  readonly params: object;
  readonly inputResponses: unknown;
  readonly requestState: unknown;
  readonly authInfo: AuthInfo | undefined;
  /** What this request declared (A12). */
  readonly capabilities: ClientCapabilities | undefined;
  /** `false` on the 2025 era, where the SDK's shim checks and asks. */
  readonly checkCapabilities: boolean;
  readonly signal: RunSignal;
  sendProgress(progress: Progress): Promise<void>;
}

/** The part of a flow's definition that serving needs. */
export interface ServedFlow<R> {
  readonly version: string | undefined;
  readonly singleUse?: boolean | undefined;
  run(flow: Flow): R | Promise<R>;
}
