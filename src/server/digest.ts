import { hash } from "node:crypto";

/** Of base64url, 192 bits. */
const CHARACTERS = 32;

/** SHA-256, cut to 192 bits: 32 characters in every state, and still no two texts with one digest. */
export function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, CHARACTERS);
}

/** The digest of a text for one use, so that the same text in another use has another. */
export function digestFor(use: "call" | "answers" | "step" | "ticket" | "task", text: string): string {
  return digest(`mcp-parley ${use}\0${text}`);
}
