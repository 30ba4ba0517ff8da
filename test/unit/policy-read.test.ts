import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { readPolicy } from "../../src/policy/index.ts";

const SECRET = "hunter2-hunter2";
const wrap = (...rules: object[]) => ({ version: 1, rules });
const accept = (more: object = {}) => ({ name: "r", then: { action: "accept", content: { ok: true } }, ...more });
const when = (conditions: object) => wrap(accept({ when: conditions }));

function complaint(file: unknown): { path: unknown; message: string } {
  try {
    readPolicy(file);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    expect(error.code).toBe("configuration");
    expect(error.message).toContain(String(error.details["remedy"]));
    return { path: error.details["path"], message: error.message };
  }
  return { path: "accepted", message: "" };
}

describe("a policy file that is wrong names the place and the remedy", () => {
  it("accepts what it should", () => {
    expect(complaint(wrap()).path).toBe("accepted");
    expect(complaint({ $schema: "./policy.schema.json", ...wrap(accept()) }).path).toBe("accepted");
    expect(complaint(when({ server: ["a", "b"], tool: { glob: "deploy-*" }, kind: "form" })).path).toBe("accepted");
    expect(complaint(when({ arguments: { "/env": "x", "/a~1b/0": [1, null], "": { equals: {} } } })).path).toBe(
      "accepted",
    );
  });

  it("accepts the page's own example", () => {
    const [, example = ""] = /^```json\n(.*?)^```$/ms.exec(readFileSync("docs/policy.md", "utf8")) ?? [];
    expect(complaint(JSON.parse(example)).path).toBe("accepted");
  });

  const cases: [what: string, file: unknown, path: string, message: RegExp][] = [
    ["not an object", [], "", /the policy is not an object/],
    ["no version", { rules: [] }, "version", /write "version": 1/],
    ["another version", { version: 2, rules: [] }, "version", /version/],
    ["no rules", { version: 1 }, "rules", /is missing/],
    [
      "an unknown member",
      { ...wrap(), default: "accept" },
      "default",
      /not known here: write one of \$schema, version/,
    ],
    [
      "an unknown condition",
      wrap(accept(), accept({ name: "s", when: { tools: "x" } })),
      "rules[1].when.tools",
      /not known/,
    ],
    ["when null", wrap(accept({ when: null })), "rules[0].when", /is not an object/],
    ["a number as tool", when({ tool: 7 }), "rules[0].when.tool", /is not text/],
    ["an empty list", when({ tool: [] }), "rules[0].when.tool", /is empty/],
    ["a number in a list", when({ key: ["a", 1] }), "rules[0].when.key[1]", /is not text/],
    ["a regular expression", when({ tool: { regex: ".*" } }), "rules[0].when.tool.regex", /write one of glob/],
    ["a long glob", when({ tool: { glob: "x".repeat(257) } }), "rules[0].when.tool.glob", /at most 256/],
    ["tool and prompt", when({ tool: "a", prompt: "b" }), "rules[0].when.prompt", /does not go with tool/],
    [
      "arguments of a resource",
      when({ resource: "a:b", arguments: {} }),
      "rules[0].when.arguments",
      /a resource has none/,
    ],
    ["an unknown kind", when({ kind: SECRET }), "rules[0].when.kind", /form, url, sample, roots/],
    ["no pointer", when({ arguments: { env: 1 } }), "rules[0].when.arguments.env", /JSON pointer/],
    ["a bad escape", when({ arguments: { "/a~2": 1 } }), 'rules[0].when.arguments["/a~2"]', /JSON pointer/],
    ["an object argument", when({ arguments: { "/a": { b: SECRET } } }), 'rules[0].when.arguments["/a"].b', /glob/],
    ["a nested list", when({ arguments: { "/a": [[SECRET]] } }), 'rules[0].when.arguments["/a"][0]', /equals/],
    ["no name", wrap({ then: { action: "ask" } }), "rules[0].name", /is not text/],
    ["a hidden character", wrap(accept({ name: "a\u202eb" })), "rules[0].name", /cannot be seen/],
    ["a name twice", wrap(accept(), accept()), "rules[1].name", /rules\[0\]/],
    ["no then", wrap({ name: "r" }), "rules[0].then", /is missing/],
    [
      "an unknown action",
      wrap({ name: "r", then: { action: "allow" } }),
      "rules[0].then.action",
      /ask, accept, decline, fail/,
    ],
    ["a fail without reason", wrap({ name: "r", then: { action: "fail" } }), "rules[0].then.reason", /is not text/],
    [
      "content of a decline",
      wrap({ name: "r", then: { action: "decline", content: {} } }),
      "rules[0].then.content",
      /not known/,
    ],
    [
      "B21 a decline of sampling",
      wrap({ name: "r", when: { kind: "sample" }, then: { action: "decline" } }),
      "rules[0].then.action",
      /no such answer/,
    ],
    [
      "two answers",
      wrap(accept({ then: { action: "accept", content: {}, roots: [] } })),
      "rules[0].then.roots",
      /content/,
    ],
    [
      "D26 content null",
      wrap(accept({ then: { action: "accept", content: { [SECRET]: null } } })),
      `rules[0].then.content["${SECRET}"]`,
      /D26/,
    ],
    ["content for a link", when({ kind: "url" }), "rules[0].then", /does not answer questions of kind url/],
    [
      "L8 accept without content or hosts",
      wrap({ name: "r", then: { action: "accept" } }),
      "rules[0].when.hosts",
      /name the hosts/,
    ],
    [
      "a host with a star",
      wrap({ name: "r", when: { hosts: ["*.x.y"] }, then: { action: "accept" } }),
      "rules[0].when.hosts[0]",
      /is not a host/,
    ],
    ["hosts of a form", when({ hosts: ["x.y"] }), "rules[0].when.hosts", /links only/],
    [
      "F23 another root",
      wrap(accept({ then: { action: "accept", roots: [{ uri: "https://x" }] } })),
      "rules[0].then.roots[0].uri",
      /F23/,
    ],
    [
      "half a sample",
      wrap(accept({ then: { action: "accept", sample: { text: SECRET } } })),
      "rules[0].then.sample.model",
      /is not text/,
    ],
    ["trust twice", { ...wrap(), trustAnnotations: ["a", "a"] }, "trustAnnotations", /repeats/],
  ];
  it.each(cases)("%s", (_what, file, path, message) => {
    const found = complaint(file);
    expect(found.path).toBe(path);
    expect(found.message).toMatch(message);
    if (!path.includes(SECRET)) expect(found.message).not.toContain(SECRET);
  });
});
