import type { AuthInfo } from "@modelcontextprotocol/server";
import type { RunSignal } from "../../replay/signal.ts";
import type { Headers } from "./headers.ts";

/** One HTTP request as serving sees it, whatever carries it. */
export interface Exchange extends Headers {
  readonly authInfo: AuthInfo | undefined;
  /** Fires when the client is gone (I6, I9). */
  readonly signal: RunSignal;
  /** Sends a notification ahead of the answer, which then comes on the same stream (G29). */
  notify(message: string): void | Promise<void>;
}
