/** Consent to visit an address (L1 to L9, E13 to E24). */
import type { QuestionContext } from "../../calls/responder.ts";
import type { ElicitResult } from "../../protocol/types.ts";
import type { UrlQuestionView } from "../model.ts";
import { host, type Safe, say } from "../text.ts";
import type { AcceptableUrl } from "../url.ts";
import { WAYS_OUT } from "./form.ts";
import { Left, type Prompter, TimedOut } from "./prompter.ts";

/** Opens `href` in the system's browser: an argument vector, never a shell (E20, L6). Rejects when it could not. */
export type OpenUrl = (href: string) => Promise<void>;

const ACCEPT: ElicitResult = { action: "accept" };
const CANCEL: ElicitResult = { action: "cancel" };
const LONGEST_WAIT_MS = 60_000;
/** Links remembered at once; the oldest is forgotten, and then waits are short again. */
const MAX_LINKS = 1000;

/** The answer in a few words, with the site it is about. */
export function summaryOfUrl({ url }: UrlQuestionView, { action }: ElicitResult): Safe[] {
  const site = url.ok ? url.registrableDomain : host("an address");
  if (action === "accept") return [say`You agreed to visit ${site}.`];
  return [action === "decline" ? say`You declined to visit ${site}.` : host("Dismissed without an answer.")];
}

export class UrlAsker {
  readonly #openUrl: OpenUrl | undefined;
  readonly #waitMs: number;
  /** Links for which a person keeps waiting, and how long the next pause is. */
  readonly #waits = new Map<string, number>();

  constructor(openUrl: OpenUrl | undefined, waitMs: number) {
    this.#openUrl = openUrl;
    this.#waitMs = waitMs;
  }

  /**
   * Asks for consent. Accept means "agreed to open it" (E21, L9); an opener that fails is a cancel (L8).
   * `agreed`: the person agreed earlier in this round and wants to change it.
   */
  async ask(
    view: UrlQuestionView,
    context: QuestionContext,
    prompter: Prompter,
    agreed: boolean,
  ): Promise<ElicitResult> {
    const { url } = view;
    if (!url.ok) return CANCEL;
    try {
      if (agreed) return await this.#askAgreed(url, prompter);
      return view.repeated
        ? await this.#askAgain(
            url,
            JSON.stringify([context.server.id, context.callId, context.key, url.href]),
            prompter,
          )
        : await this.#askFirst(url, prompter);
    } catch (error) {
      if (error instanceof Left) return CANCEL;
      throw error;
    }
  }

  async #askFirst(url: AcceptableUrl, prompter: Prompter): Promise<ElicitResult> {
    const yes = this.#openUrl === undefined ? host("Yes, I will open it myself") : host("Yes, open it in the browser");
    const choice = await prompter.decide(
      host("Visit this address?"),
      [{ value: "accept", label: yes } as const, ...WAYS_OUT],
      2,
    );
    if (choice !== "accept") return { action: choice };
    if (!(await this.#open(url, prompter))) return CANCEL;
    const next = await prompter.decide(
      host("Go on as soon as you are done there. It can wait here as long as you like."),
      [
        { value: "accept", label: host("Go on: let the server check now") },
        { value: "cancel", label: host("Cancel") },
      ] as const,
      0,
    );
    return { action: next };
  }

  /**
   * The same address came back: consent was given already, so it is neither asked again nor opened by itself (E24). The
   * person has the server check now, keeps waiting (then it checks after a pause, unless they choose otherwise), or ends.
   */
  async #askAgain(url: AcceptableUrl, id: string, prompter: Prompter): Promise<ElicitResult> {
    let pauseMs = this.#waits.get(id);
    for (;;) {
      const pause = pauseMs === undefined ? host("") : say` It is asked again in ${Math.ceil(pauseMs / 1000)} seconds.`;
      try {
        const choice = await prompter.decide(
          say`The server is still waiting for what happens at this address.${pause}`,
          [
            { value: "accept", label: host("Let the server check again now") } as const,
            ...(this.#openUrl === undefined ? [] : [{ value: "open", label: host("Open it once more") } as const]),
            { value: "wait", label: host("Keep waiting: let it check after a while") } as const,
            ...WAYS_OUT,
          ],
          0,
          pauseMs,
        );
        if (choice === "wait") pauseMs ??= this.#waitMs;
        else if (choice !== "open") return { action: choice };
        else if (!(await this.#open(url, prompter))) return CANCEL;
      } catch (error) {
        if (!(error instanceof TimedOut)) throw error;
        this.#remember(id, Math.min(LONGEST_WAIT_MS, (pauseMs ?? this.#waitMs) * 2));
        return ACCEPT;
      }
    }
  }

  async #askAgreed(url: AcceptableUrl, prompter: Prompter): Promise<ElicitResult> {
    const choice = await prompter.decide(
      host("You agreed to visit this address."),
      [
        { value: "accept", label: host("Leave it at that") } as const,
        ...(this.#openUrl === undefined ? [] : [{ value: "open", label: host("Open it once more") } as const]),
        ...WAYS_OUT,
      ],
      0,
    );
    if (choice !== "open") return { action: choice };
    return (await this.#open(url, prompter)) ? ACCEPT : CANCEL;
  }

  #remember(id: string, pauseMs: number): void {
    this.#waits.delete(id);
    this.#waits.set(id, pauseMs);
    for (const oldest of this.#waits.keys()) {
      if (this.#waits.size <= MAX_LINKS) break;
      this.#waits.delete(oldest);
    }
  }

  async #open(url: AcceptableUrl, prompter: Prompter): Promise<boolean> {
    try {
      await this.#openUrl?.(url.href);
      return true;
    } catch {
      prompter.say(host("  ▲ The browser could not be opened. The server is told that this was cancelled."));
      return false;
    }
  }
}
