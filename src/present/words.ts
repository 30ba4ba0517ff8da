/** The host's own words that every surface uses. */
import type { QuestionView } from "./model.ts";
import { host, type Safe } from "./text.ts";

/** What a server does with a question of each kind: "Server “x” ...". */
export const ASKS: Record<QuestionView["kind"], Safe> = {
  form: host("asks a question"),
  url: host("asks you to visit a web address"),
  sample: host("asks to use your language model"),
  roots: host("asks which folders it may know of"),
};
