/** Consent to visit a web address (E13 to E24; rules L6 to L9). Nothing opens, and nothing is fetched, before a yes. */
import type { ElicitResult } from "../../protocol/types.ts";
import type { UrlQuestionView } from "../model.ts";
import { host } from "../text.ts";
import type { AcceptableUrl } from "../url.ts";
import { WAYS_OUT } from "./form.ts";
import { Left, type Prompter } from "./prompter.ts";

/** Opens `href` in the system's browser: an argument vector, never a shell (E20, L6). Rejects when it could not. */
export type OpenUrl = (href: string) => Promise<void>;

const CANCEL: ElicitResult = { action: "cancel" };

/** Asks for consent. Accept means "agreed to open it" (E21, L9); an opener that fails is a cancel (L8). */
export async function askUrl(
  view: UrlQuestionView,
  url: AcceptableUrl,
  prompter: Prompter,
  openUrl: OpenUrl | undefined,
): Promise<ElicitResult> {
  try {
    return view.repeated ? await askAgain(url, prompter, openUrl) : await askFirst(url, prompter, openUrl);
  } catch (error) {
    if (error instanceof Left) return CANCEL;
    throw error;
  }
}

async function askFirst(url: AcceptableUrl, prompter: Prompter, openUrl: OpenUrl | undefined): Promise<ElicitResult> {
  const yes = openUrl === undefined ? host("Yes, I will open it myself") : host("Yes, open it in the browser");
  const choice = await prompter.choose(
    host("Visit this address?"),
    [{ value: "accept", label: yes } as const, ...WAYS_OUT],
    2,
  );
  if (choice !== "accept") return { action: choice };
  if (!(await open(url, prompter, openUrl))) return CANCEL;
  const next = await prompter.choose(
    host("Go on as soon as you are done there. It can wait here as long as you like."),
    [
      { value: "accept", label: host("Go on: let the server check now") },
      { value: "cancel", label: host("Cancel") },
    ] as const,
    0,
  );
  return { action: next };
}

/** The same address came back: consent was given already, so it is neither asked again nor opened by itself (E24). */
async function askAgain(url: AcceptableUrl, prompter: Prompter, openUrl: OpenUrl | undefined): Promise<ElicitResult> {
  for (;;) {
    const choice = await prompter.choose(
      host("The server is still waiting for what happens at this address."),
      [
        { value: "accept", label: host("Let the server check again") } as const,
        ...(openUrl === undefined ? [] : [{ value: "open", label: host("Open it once more") } as const]),
        ...WAYS_OUT,
      ],
      0,
    );
    if (choice !== "open") return { action: choice };
    if (!(await open(url, prompter, openUrl))) return CANCEL;
  }
}

async function open(url: AcceptableUrl, prompter: Prompter, openUrl: OpenUrl | undefined): Promise<boolean> {
  try {
    await openUrl?.(url.href);
    return true;
  } catch {
    prompter.say(host("  ▲ The browser could not be opened. The server is told that this was cancelled."));
    return false;
  }
}
