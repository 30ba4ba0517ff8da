import { expect } from "vitest";
import type { AskingServer, Round } from "./asking.ts";
import type { Tab, World } from "./world.ts";

/** A question on screen, and what its server gets for it. */
export interface Shown {
  readonly id: string;
  /** Answers the server has got since, of the question `q`. */
  answers(): unknown[];
  /** The first of them, once it is there. */
  answer(): Promise<unknown>;
}

/** Has `server` ask these rounds, the question in view under the key `q`, and opens the call. */
export async function showQuestion(
  { world, tab, name, server }: { world: World; tab: Tab; name: string; server: AskingServer },
  rounds: readonly Round[],
  script?: string,
): Promise<Shown> {
  const id = await world.ask(name, rounds, script);
  const before = server.answers.length;
  const answers = () => server.answers.slice(before).map((each) => each["q"]);
  await tab.show(`#/call/${id}`);
  return {
    id,
    answers,
    async answer() {
      await expect.poll(() => answers().length).toBe(1);
      return answers()[0];
    },
  };
}
