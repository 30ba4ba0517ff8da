import { expect, it } from "vitest";
import { readExports } from "../../src/cli/serve/module.ts";
import { prompt, tool } from "../../src/flow/define.ts";

const deploy = tool("deploy", {}, async () => ({ content: [] }));
const review = prompt("review", {}, async () => ({ messages: [] }));
const names = (exports: Record<string, unknown>) => readExports(exports, "m.mjs").flows.map(({ name }) => name);

it("flows are served that are exported each by a name of its own, whatever else is exported", () => {
  expect(names({ deploy, review, helper: () => 1, limit: 3 })).toEqual(["deploy", "review"]);
});

it("an array says what is served, and nothing beside it", () => {
  expect(names({ flows: [deploy], review })).toEqual(["deploy"]);
  expect(names({ default: review, deploy })).toEqual(["review"]);
});
