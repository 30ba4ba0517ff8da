/** The host's own words that every surface uses. */
import type { QuestionView } from "./model.ts";
import { host, type Safe } from "./text.ts";

/** Why a question comes again after its server refused what was answered before (L13). */
export const STARTED_OVER = host(
  "The server no longer accepts the earlier answers: they came too late, or it has changed. It starts over and asks again.",
);

/** What a server does with a question of each kind: "Server “x” ...". */
export const ASKS: Record<QuestionView["kind"], Safe> = {
  form: host("asks a question"),
  url: host("asks you to visit a web address"),
  sample: host("asks to use your language model"),
  roots: host("asks which folders it may know of"),
};
