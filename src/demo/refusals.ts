/** The same state in wrong hands: each time first as it is, which works, then with one thing changed, which does not. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError } from "@modelcontextprotocol/client";
import type { Calls } from "../calls/calls.ts";
import type { SavedCall } from "../calls/saved.ts";
import { SCRIPTED_ANSWERS } from "./deploy.ts";
import { expect, say } from "./page.ts";
import type { Caller, Service } from "./service.ts";
import { DEPLOY } from "./story.ts";

interface Scene {
  readonly title: string;
  readonly service: Service;
  readonly caller: Caller;
  readonly change: (saved: SavedCall) => SavedCall | Promise<SavedCall>;
  /** What the operator must be told. */
  readonly reason: string;
}

/** @param shortLived a service whose states expire after `ttlMs`. */
export async function tellRefusals(service: Service, shortLived: Service, ttlMs: number): Promise<void> {
  const scenes: readonly Scene[] = [
    { title: "one character of it changed", service, caller: "alice", change: tamper, reason: "tampered" },
    {
      title: "presented by another caller",
      service,
      caller: "bob",
      change: (saved) => saved,
      reason: "other_principal",
    },
    { title: "with other arguments", service, caller: "alice", change: otherArguments, reason: "other_params" },
  ];
  const expired: Scene = {
    title: `${ttlMs / 1000} seconds later, when it has expired`,
    service: shortLived,
    caller: "alice",
    change: (saved) => sleep(ttlMs + 100, saved),
    reason: "expired",
  };
  const playInTurn = async (): Promise<Told[]> => {
    const told: Told[] = [];
    for (const scene of scenes) told.push(await play(scene));
    return told;
  };
  // The one that waits has a service of its own, so it may wait while the others play.
  const [inTurn, late] = await Promise.all([playInTurn(), play(expired)]);
  const all = [...inTurn, late];
  for (const { lines } of all) for (const line of lines) say(line);
  expect(new Set(all.map(({ refusal }) => refusal)).size === 1, "every refusal to look the same to a caller");
  say("  To a caller all four look the same. No refused request reached the function.");
}

interface Told {
  readonly lines: readonly string[];
  /** What the caller saw. */
  readonly refusal: string;
}

async function play({ title, service, caller, change, reason }: Scene): Promise<Told> {
  const options = { responders: { form: neverAsked }, restartRefusedState: false };
  const [alice, sender] = [await service.callsOf("alice", options), await service.callsOf(caller, options)];
  const call = await alice.open("tools/call", DEPLOY);
  const saved = call.toJSON();
  await service.reports.next();

  const control = await send(alice, saved);
  const { event: accepted } = await service.reports.next();
  expect(control === "accepted" && accepted.type === "round", "the unchanged state to be accepted");

  const refusal = await send(sender, await change(saved));
  const { event: refused, ran } = await service.reports.next();
  expect(refused.type === "state_refused", `the state ${title} to be refused`);
  expect(refused.reason === reason, `the operator to be told ${reason}, not ${refused.reason}`);
  expect(ran.length === 0, "nothing to run for a refused state");
  const lines = [
    `  ${title}`,
    `    unchanged  accepted; asks ${accepted.questions.join(" and ")}`,
    `    changed    the caller sees ${refusal}; the operator sees ${refused.reason}`,
  ];
  return { lines, refusal };
}

/** Answers the saved questions and sends the next round: "accepted", or the error as the caller gets it. */
async function send(calls: Calls, saved: SavedCall): Promise<string> {
  const call = calls.resume(saved);
  call.answer("ok", SCRIPTED_ANSWERS.ok);
  call.answer("window", SCRIPTED_ANSWERS.window);
  try {
    await call.continue();
    return "accepted";
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return `${error.code} ${JSON.stringify(error.message)} ${JSON.stringify(error.data)}`;
  }
}

function tamper(saved: SavedCall): SavedCall {
  const state = saved.requestState ?? "";
  const at = Math.floor(state.length / 2);
  const other = state[at] === "A" ? "B" : "A";
  return { ...saved, requestState: state.slice(0, at) + other + state.slice(at + 1) };
}

function otherArguments(saved: SavedCall): SavedCall {
  return { ...saved, params: { ...saved.params, arguments: { ...DEPLOY.arguments, service: "payroll" } } };
}

async function neverAsked(): Promise<never> {
  throw new Error("the demo answers step by step");
}
