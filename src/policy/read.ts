import { isObject } from "../internal/json.ts";
import type { Json, QuestionKind } from "../protocol/types.ts";
import { MAX_GLOB } from "./glob.ts";
import { pointerPath } from "./pointer.ts";
import { Place } from "./reader.ts";
import type { Conditions, Matcher, Rule, Rules, TargetMember } from "./rule.ts";
import { TARGET_METHODS } from "./rule.ts";
import { kindsOf, readVerdict } from "./verdict.ts";

/** Bounds of a policy file. Lengths are characters (code points), as JSON Schema counts them. */
export const MOST = { rules: 1000, name: 100, text: 2000, values: 200, arguments: 50 } as const;

const KINDS: readonly QuestionKind[] = ["form", "url", "sample", "roots"];

/**
 * A policy file's JSON as rules, or the first thing that is wrong with it. What is accepted is what
 * policy.schema.json accepts, and no two rules of one name.
 *
 * @throws ParleyError `configuration` with `details.path` (`rules[3].when.tool`) and `details.remedy`; no value of the
 * file is repeated.
 */
export function readRules(file: unknown): Rules {
  const root = new Place();
  const { $schema, version, rules, trustAnnotations } = root.object(file, [
    "$schema",
    "version",
    "trustAnnotations",
    "rules",
  ]);
  if ($schema !== undefined && typeof $schema !== "string")
    root.at("$schema").refuse("is not text", "write its address");
  if (version !== 1) root.at("version").refuse("is missing or not known", 'write "version": 1');
  const list = root
    .at("rules")
    .list(rules ?? root.at("rules").refuse("is missing", "write a list of rules"), 0, MOST.rules);
  const read = list.map((rule, index) => readRule(rule, root.at("rules").at(index)));
  const names = new Map<string, number>();
  for (const [index, { name }] of read.entries()) {
    const before = names.get(name);
    const place = root.at("rules").at(index).at("name");
    if (before !== undefined) place.refuse(`is the name of rules[${before}], too`, "give each rule its own");
    names.set(name, index);
  }
  return { rules: read, trustAnnotations: readTrust(trustAnnotations, root.at("trustAnnotations")) };
}

function readTrust(value: unknown, place: Place): readonly string[] {
  if (value === undefined) return [];
  return place.distinct(place.list(value, 0, MOST.values).map((id, index) => place.at(index).text(id, MOST.text)));
}

function readRule(value: unknown, place: Place): Rule {
  const { name, when, then } = place.object(value, ["name", "when", "then"]);
  const text = place.at("name").text(name, MOST.name);
  if (/\p{C}/u.test(text)) place.at("name").refuse("has characters that cannot be seen", "take them out");
  const conditions = readConditions(when === undefined ? {} : when, place.at("when"));
  const verdict = readVerdict(then, conditions, place);
  return { name: text, when: conditions, verdict, kinds: kindsOf(verdict, conditions) };
}

function readConditions(value: unknown, place: Place): Conditions {
  const given = place.object(value, ["server", "tool", "prompt", "resource", "key", "kind", "hosts", "arguments"]);
  const { server, key, hosts } = given;
  const kind = given.kind === undefined ? undefined : place.at("kind").oneOf(given.kind, KINDS);
  const [member, other] = (["tool", "prompt", "resource"] as const).filter((name) => given[name] !== undefined);
  if (other !== undefined) place.at(other).refuse(`does not go with ${member}`, "write a rule for each");
  if (given.arguments !== undefined && member === "resource")
    place.at("arguments").refuse("does not go with resource", "a resource has none; match its address");
  if (hosts !== undefined && kind !== undefined && kind !== "url")
    place.at("hosts").refuse(`does not go with kind ${kind}`, "only links have a host");
  return {
    ...(server !== undefined && { server: readMatcher(server, place.at("server")) }),
    ...(member !== undefined && { target: readTarget(member, given[member], place.at(member)) }),
    ...(key !== undefined && { key: readMatcher(key, place.at("key")) }),
    ...(kind !== undefined && { kind }),
    ...(hosts !== undefined && { hosts: readHosts(hosts, place.at("hosts")) }),
    arguments: given.arguments === undefined ? [] : readArguments(given.arguments, place.at("arguments")),
  };
}

function readTarget(member: TargetMember, value: unknown, place: Place): NonNullable<Conditions["target"]> {
  return { member, method: TARGET_METHODS[member], name: readMatcher(value, place) };
}

/** Text, a list of texts, or a glob. */
function readMatcher(value: unknown, place: Place): Matcher {
  if (isObject(value)) return readGlob(value, place);
  if (!Array.isArray(value)) return { type: "oneOf", values: [place.text(value, MOST.text)] };
  const values = place.list(value, 1, MOST.values).map((one, index) => place.at(index).text(one, MOST.text));
  return { type: "oneOf", values: place.distinct(values) };
}

function readGlob(value: unknown, place: Place): Matcher {
  const { glob } = place.object(value, ["glob"]);
  return { type: "glob", pattern: place.at("glob").text(glob, MAX_GLOB) };
}

/** As a browser spells a host: nothing that could be taken for a pattern, a user name or a path. */
const HOST = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$/;

function readHosts(value: unknown, place: Place): readonly string[] {
  const hosts = place.list(value, 1, MOST.values).map((one, index) => {
    const host = place.at(index).text(one, MOST.text);
    const remedy = "write it whole and in lower case, with the port if there is one, such as accounts.example.com";
    return HOST.test(host) ? host : place.at(index).refuse("is not a host", remedy);
  });
  return place.distinct(hosts);
}

function readArguments(value: unknown, place: Place): Conditions["arguments"] {
  const entries = Object.entries(place.map(value));
  if (entries.length > MOST.arguments) place.refuse("has too many members", `write at most ${MOST.arguments}`);
  return entries.map(([pointer, matcher]) => {
    const here = place.at(pointer);
    const path = pointerPath(pointer);
    if (path === undefined) return here.refuse("is not a JSON pointer", 'write it as "/env" or "/list/0/name"');
    return { pointer, path, value: readArgument(matcher, here) };
  });
}

function readArgument(value: unknown, place: Place): Matcher {
  if (isObject(value) && "equals" in value)
    return { type: "equals", value: place.object(value, ["equals"]).equals as Json };
  if (isObject(value)) return readGlob(value, place);
  const list = Array.isArray(value) ? place.list(value, 1, MOST.values) : [value];
  const values = list.map((one, index) => {
    const here = Array.isArray(value) ? place.at(index) : place;
    if (isScalar(one)) return one;
    return here.refuse("is not text, a number, a boolean or null", 'write { "equals": ... } for anything larger');
  });
  return { type: "oneOf", values };
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
