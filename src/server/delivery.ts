/** What one request is answered with, as a value: it can be handed over now, or sealed and handed over again. */
import { ProtocolError } from "@modelcontextprotocol/server";
import type { InputRequired, Json } from "../protocol/types.ts";

export type Delivery =
  | { readonly type: "result"; readonly value: unknown }
  | { readonly type: "interim"; readonly value: InputRequired }
  /** What the flow threw; the SDK makes of it what it makes of any tool's error. */
  | { readonly type: "threw"; readonly error: unknown }
  /** A JSON-RPC error of ours. */
  | { readonly type: "fault"; readonly error: ProtocolError };

/** Gives the SDK what it answers with. */
export function handOver<R>(delivery: Delivery): R | InputRequired {
  switch (delivery.type) {
    case "result":
      return delivery.value as R;
    case "interim":
      return delivery.value;
    default:
      throw delivery.error;
  }
}

type Written =
  | { t: "result" | "interim"; v: Json }
  | { t: "threw"; n: string; m: string }
  | { t: "fault"; c: number; m: string; d?: Json };

/** As text; {@link readDelivery} gives back what the wire cannot tell from the original. */
export function writeDelivery(delivery: Delivery): string {
  const written = (): Written => {
    switch (delivery.type) {
      case "result":
      case "interim":
        return { t: delivery.type, v: delivery.value as Json };
      case "threw": {
        const error = delivery.error instanceof Error ? delivery.error : new Error(String(delivery.error));
        return { t: "threw", n: error.name, m: error.message };
      }
      case "fault": {
        const { code, message, data } = delivery.error;
        return { t: "fault", c: code, m: message, ...(data !== undefined && { d: data as Json }) };
      }
    }
  };
  return JSON.stringify(written());
}

export function readDelivery(text: string): Delivery {
  const written = JSON.parse(text) as Written;
  switch (written.t) {
    case "result":
      return { type: "result", value: written.v };
    case "interim":
      return { type: "interim", value: written.v as unknown as InputRequired };
    case "threw":
      return { type: "threw", error: Object.assign(new Error(written.m), { name: written.n }) };
    case "fault":
      return { type: "fault", error: ProtocolError.fromError(written.c, written.m, written.d) };
  }
}
