import { createHash } from "node:crypto";

/** SHA-256, cut to 192 bits: 32 characters in every state, and still no two texts with one digest. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest().toString("base64url", 0, 24);
}

/** The digest of a text for one use, so that the same text in another use has another. */
export function digestFor(use: "call" | "answers" | "step" | "ticket" | "task", text: string): string {
  return digest(`mcp-parley ${use}\0${text}`);
}
