/**
 * The answers of one round are held until the last of them is given, so that they can be read and changed together
 * before anything is sent (D19). A round with one question has its own review, and is not held.
 */
import type { QuestionContext } from "../../calls/responder.ts";
import { ParleyError } from "../../errors.ts";
import type { ElicitResult } from "../../protocol/types.ts";
import { host, inert, type Safe, say } from "../text.ts";
import { Left, type Prompter } from "./prompter.ts";
import type { Surface } from "./surface.ts";
import { wrapped } from "./wrap.ts";

/** A question that a person answers here. */
export interface Asked {
  /** `others` says whether the round asks more than this. `before`: what was answered, when it is changed. */
  ask(others: () => boolean, before?: ElicitResult): Promise<ElicitResult>;
  /** The answer in a few words. */
  summary(answer: ElicitResult): Safe[];
}

interface Member {
  readonly asked: Asked;
  readonly context: QuestionContext;
  answer?: ElicitResult;
  readonly settle: { resolve(answer: ElicitResult): void; reject(error: unknown): void };
}

export class Rounds {
  readonly #surface: Surface;
  /** By call, then by round. */
  readonly #rounds = new Map<unknown, Map<number, Round>>();

  constructor(surface: Surface) {
    this.#surface = surface;
  }

  /** Asks, and resolves when the whole round may be sent. */
  async answer(context: QuestionContext, asked: Asked): Promise<ElicitResult> {
    const { params, round: number } = context;
    const call = context.callId ?? params;
    const rounds = this.#rounds.get(call) ?? new Map<number, Round>();
    this.#rounds.set(call, rounds);
    const round = rounds.get(number) ?? new Round(this.#surface);
    rounds.set(number, round);
    try {
      return await round.answer(context, asked);
    } finally {
      if (round.empty) rounds.delete(number);
      if (rounds.size === 0) this.#rounds.delete(call);
    }
  }
}

class Round {
  readonly #surface: Surface;
  readonly #members: Member[] = [];
  #reviewing = false;

  constructor(surface: Surface) {
    this.#surface = surface;
  }

  get empty(): boolean {
    return this.#members.length === 0;
  }

  async answer(context: QuestionContext, asked: Asked): Promise<ElicitResult> {
    const members = this.#members;
    const { promise, settle } = deferred();
    const member: Member = { asked, context, settle };
    members.push(member);
    const onAbort = () => settle.reject(abortOf(context));
    context.signal.addEventListener("abort", onAbort, { once: true });
    try {
      member.answer = await asked.ask(() => members.length > 1);
      if (members.length === 1) return member.answer;
      this.#reviewIfDone();
      return await promise;
    } finally {
      context.signal.removeEventListener("abort", onAbort);
      members.splice(members.indexOf(member), 1);
      // A turn later: whoever asked takes back the others first, when this one failed.
      setImmediate(() => this.#reviewIfDone());
    }
  }

  #reviewIfDone(): void {
    if (this.#reviewing || this.empty || this.#members.some(({ answer }) => answer === undefined)) return;
    this.#reviewing = true;
    void this.#review().finally(() => {
      this.#reviewing = false;
    });
  }

  /** Shows all answers; settles every member that was there, whatever happens. */
  async #review(): Promise<void> {
    const members = [...this.#members];
    try {
      for (;;) {
        const [first] = members;
        if (first === undefined) return;
        const choice = await this.#surface.turn(first.context, (prompter) => decide(members, prompter));
        if (choice === "send" || choice === "dismiss") {
          for (const { settle, answer } of members) {
            settle.resolve(choice === "send" && answer !== undefined ? answer : { action: "cancel" });
          }
          return;
        }
        const member = members[choice];
        if (member !== undefined) member.answer = await member.asked.ask(() => true, member.answer);
      }
    } catch (error) {
      for (const { settle } of members) settle.reject(error);
    }
  }
}

async function decide(members: readonly Member[], prompter: Prompter): Promise<"send" | "dismiss" | number> {
  const [first] = members;
  if (first === undefined) return "dismiss";
  const { server, method, target } = first.context;
  const heading = say`━━ Your answers to server “${inert(server.id, 100)}” for ${inert(method, 40)} “${inert(target, 300)}”`;
  prompter.print([host(""), ...wrapped(heading, prompter.columns)]);
  for (const { context, asked, answer } of members) {
    if (answer === undefined) continue;
    prompter.say(say`  Question “${inert(context.key, 100)}”:`);
    for (const line of asked.summary(answer)) prompter.say(say`    ${line}`);
  }
  try {
    const choice = await prompter.decide<"send" | "dismiss" | "change">(
      members.length === 1 ? host("Send this answer?") : say`Send these ${members.length} answers?`,
      [
        { value: "send", label: host("Send them") },
        { value: "change", label: host("Change one") },
        { value: "dismiss", label: host("Dismiss them all without an answer (Esc)") },
      ],
      0,
    );
    if (choice !== "change") return choice;
    const options = members.map(({ context }, value) => ({ value, label: say`“${inert(context.key, 100)}”` }));
    return await prompter.choose(host("Which one?"), options, 0);
  } catch (error) {
    if (error instanceof Left) return "dismiss";
    throw error;
  }
}

function abortOf({ signal, key }: QuestionContext): unknown {
  if (signal.reason instanceof ParleyError) return signal.reason;
  return new ParleyError("aborted", `The answer to ${JSON.stringify(key)} was not sent: the call ended.`, {
    cause: signal.reason,
  });
}

function deferred(): { promise: Promise<ElicitResult>; settle: Member["settle"] } {
  let settle!: Member["settle"];
  const promise = new Promise<ElicitResult>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // A member that is still being asked hears of it there.
  promise.catch(() => {});
  return { promise, settle };
}
