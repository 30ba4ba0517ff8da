/** Every kind of field the revision has, in every spelling (field case B33, rule F8). */
import type { Page } from "playwright-core";
import { pick, tabTo, tick, type } from "./keyboard.ts";
import type { Tab } from "./world.ts";

export const PROBES = {
  plain: { type: "string" },
  described: { type: "string", title: "Described", description: "What it is for" },
  short: { type: "string", minLength: 3, maxLength: 8 },
  mail: { type: "string", format: "email" },
  site: { type: "string", format: "uri" },
  day: { type: "string", format: "date" },
  moment: { type: "string", format: "date-time" },
  size: { type: "string", enum: ["s", "m", "l"] },
  legacy: { type: "string", enum: ["a", "b"], enumNames: ["Alpha", "Beta"] },
  titled: {
    type: "string",
    oneOf: [
      { const: "now", title: "Right away" },
      { const: "later", title: "Tonight" },
    ],
  },
  whole: { type: "integer" },
  bounded: { type: "integer", minimum: 1, maximum: 10 },
  real: { type: "number" },
  agree: { type: "boolean" },
  kept: { type: "string", default: "as it is" },
  many: { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, minItems: 1, maxItems: 2 },
  manyTitled: {
    type: "array",
    items: {
      anyOf: [
        { const: "1", title: "One" },
        { const: "2", title: "Two" },
      ],
    },
  },
};

/** Without the spelling of older revisions: a host must be able to show it, and our own servers do not write it (D10). */
export const { legacy: _legacy, ...OWN_PROBES } = PROBES;

export const PROBE_ANSWERS = {
  plain: "Ünïcode & <b>markup</b>",
  described: "two  spaces",
  short: "a😀c",
  mail: "name@example.com",
  site: "https://example.com/a?b=c#d",
  day: "2026-02-28",
  moment: "2026-07-28T09:30:00Z",
  size: "m",
  legacy: "b",
  titled: "later",
  whole: -12,
  bounded: 10,
  real: 0.25,
  agree: false,
  kept: "as it is",
  many: ["x", "z"],
  manyTitled: ["2"],
};

/** Fills the probes of the page's first question, reviews and sends, with the keyboard alone. */
export async function fillProbes({ page, settled }: Tab, properties: object = PROBES): Promise<void> {
  await settled();
  const names = Object.keys(properties);
  const at = (name: keyof typeof PROBES) => `#question-1-${names.indexOf(name)}`;
  for (const name of ["plain", "described", "short", "mail", "site", "day", "moment"] as const) {
    await type(page, at(name), PROBE_ANSWERS[name]);
  }
  await pick(page, `${at("size")}-group`, 1);
  if (names.includes("legacy")) await pick(page, `${at("legacy")}-group`, 1);
  await pick(page, `${at("titled")}-group`, 1);
  await type(page, at("whole"), "-12");
  await type(page, at("bounded"), "10");
  await type(page, at("real"), "2.5e-1");
  await pick(page, `${at("agree")}-group`, 1);
  await tick(page, at("many"));
  await tick(page, `${at("many")}-2`);
  await tick(page, `${at("manyTitled")}-1`);
  await sendByKeyboard({ page, settled }, "Review my answer", "Send this answer");
}

export async function sendByKeyboard(
  { page, settled }: { page: Page; settled: () => Promise<void> },
  review: string,
  send: string,
): Promise<void> {
  await tabTo(page, "button[type=submit]");
  if ((await page.evaluate(() => document.activeElement?.textContent)) !== review) throw new Error(`not at ${review}`);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: send }).waitFor();
  await settled();
  await tabTo(page, ".review button.primary");
  await page.keyboard.press("Enter");
}
