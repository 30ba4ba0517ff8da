/** What goes over the wire, and where it arrives. */
import type { Life } from "./life.ts";

/** One request as it is put on the wire. */
export interface Leg {
  readonly from: string;
  /** The call's arguments. */
  readonly args: object;
  readonly callId: string | undefined;
  readonly state: string | undefined;
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  /** What must become of it, whoever serves it: a client's own is served, an attack is not. */
  readonly must: "serve" | "any" | "refuse";
  readonly what: string;
}

export interface Reply {
  /** `again`: refused for now. `gone`: the client had left. */
  readonly kind: "result" | "interim" | "threw" | "refused" | "again" | "fault" | "gone";
  readonly reason?: string;
  readonly bytes: string;
}

/** One delivery of a leg to one incarnation. */
export interface Delivery {
  readonly id: number;
  readonly leg: Leg;
  readonly incarnation: Life;
  readonly startedAt: number;
  readonly client: AbortController;
}
