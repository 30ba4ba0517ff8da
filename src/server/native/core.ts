import type { PendingBytes } from "./body.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Guard } from "./guard.ts";
import type { ResolvedHandler } from "./options.ts";
import type { SdkSide } from "./sdk.ts";

/** What all exchanges of one handler share. */
export interface Core {
  readonly options: ResolvedHandler;
  readonly guard: Guard;
  readonly dispatcher: Dispatcher;
  readonly sdk: SdkSide;
  readonly pending: PendingBytes;
  readonly callersRequired: boolean;
  readonly open: Set<{ abort(): void }>;
  closed: boolean;
}
