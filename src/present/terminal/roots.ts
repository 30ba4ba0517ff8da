/** Consent to tell a server which folders it may know of (F23 to F25). */
import type { QuestionContext } from "../../calls/responder.ts";
import { InputCancelled, InputDeclined, ParleyError } from "../../errors.ts";
import type { RootsResult } from "../../protocol/types.ts";
import { host, inline, say } from "../text.ts";
import { Left, type Prompter } from "./prompter.ts";

/** Checks configured roots: `file:` URIs without steps upward (F23, F24). Throws `configuration`. */
export function checkRoots(result: RootsResult): void {
  for (const { uri } of result.roots) {
    const upward = /(^|[/\\])(\.|%2e){2}([/\\]|$)/i.test(uri);
    if (!URL.canParse(uri) || new URL(uri).protocol !== "file:" || upward) {
      throw new ParleyError("configuration", `Root "${inline(uri)}" is not a file: URI without "..".`);
    }
  }
}

/** Shows the folders and asks. No throws {@link InputDeclined}, leaving throws {@link InputCancelled}. */
export async function askRoots(
  result: RootsResult,
  context: QuestionContext,
  prompter: Prompter,
): Promise<RootsResult> {
  prompter.say(say`  It would be told of ${result.roots.length} folders:`);
  for (const { uri, name } of result.roots) {
    prompter.say(name === undefined ? say`    ${inline(uri, 500)}` : say`    ${inline(uri, 500)} (${inline(name)})`);
  }
  const choice = await choose(prompter);
  if (choice === "share") return result;
  throw choice === "refuse" ? new InputDeclined(context.key) : new InputCancelled(context.key);
}

async function choose(prompter: Prompter): Promise<"share" | "refuse" | "dismiss"> {
  try {
    return await prompter.decide(
      host("Tell the server?"),
      [
        { value: "share", label: host("Yes, tell it") },
        { value: "refuse", label: host("Refuse") },
        { value: "dismiss", label: host("Dismiss (Esc)") },
      ] as const,
      2,
    );
  } catch (error) {
    if (error instanceof Left) return "dismiss";
    throw error;
  }
}
