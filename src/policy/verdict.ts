/** What a rule says, and which kinds of question that can be said of. */
import { rootsBreach } from "../protocol/sampling.ts";
import type { FormContent, QuestionKind, Root } from "../protocol/types.ts";
import type { Place } from "./reader.ts";
import type { Conditions, Verdict } from "./rule.ts";

const CONTENT_MOST = { fields: 200, items: 500, secrets: 200 } as const;
const REASON_MOST = 500;
const SAMPLE_MOST = 100_000;

/** `place` is the rule's. Conditions that cannot hold together with the verdict are refused. */
export function readVerdict(value: unknown, when: Conditions, place: Place): Verdict {
  const here = place.at("then");
  if (value === undefined) here.refuse("is missing", 'write "then": { "action": "ask" }, or another action');
  const action = here.at("action").oneOf(here.map(value)["action"], ["ask", "accept", "decline", "fail"]);
  switch (action) {
    case "ask":
      here.object(value, ["action"]);
      return { action };
    case "fail":
      return { action, reason: here.at("reason").text(here.object(value, ["action", "reason"]).reason, REASON_MOST) };
    case "decline":
      here.object(value, ["action"]);
      if (when.kind === "sample" || when.kind === "roots")
        here.at("action").refuse(`does not go with kind ${when.kind}`, "there is no such answer (B21); write fail");
      return { action };
    case "accept":
      return readAccept(value, when, place);
  }
}

/** The kinds of question that a rule can match. */
export function kindsOf(then: Verdict, { kind, hosts }: Conditions): readonly QuestionKind[] {
  const able: readonly QuestionKind[] =
    then.action === "accept"
      ? [then.kind]
      : then.action === "decline"
        ? ["form", "url"]
        : ["form", "url", "sample", "roots"];
  return able.filter((one) => (kind === undefined || one === kind) && (hosts === undefined || one === "url"));
}

function readAccept(value: unknown, when: Conditions, place: Place): Verdict {
  const here = place.at("then");
  const given = here.object(value, ["action", "content", "allowSecretFields", "sample", "roots"]);
  const { content, allowSecretFields, sample, roots } = given;
  const [what, other] = (["content", "sample", "roots"] as const).filter((name) => given[name] !== undefined);
  if (other !== undefined) here.at(other).refuse(`does not go with ${what}`, "write a rule for each kind of question");
  if (allowSecretFields !== undefined && what !== "content")
    here.at("allowSecretFields").refuse("goes with content only", "take it out");
  const kind = what === undefined ? "url" : what === "content" ? "form" : what;
  if (when.kind !== undefined && when.kind !== kind) {
    const remedy = what === undefined ? "write what to answer: content, sample or roots" : "take one of the two out";
    here.refuse(`does not answer questions of kind ${when.kind}`, remedy);
  }
  if (when.hosts !== undefined && kind !== "url")
    place.at("when").at("hosts").refuse("goes with links only", "take it out");
  switch (kind) {
    case "form":
      return {
        action: "accept",
        kind,
        content: readContent(content, here.at("content")),
        secrets: readSecrets(allowSecretFields, here.at("allowSecretFields")),
      };
    case "url":
      if (when.hosts === undefined)
        place
          .at("when")
          .at("hosts")
          .refuse("is missing", "name the hosts whose links this rule agrees to, or write what to answer");
      return { action: "accept", kind };
    case "sample":
      return { action: "accept", kind, response: readSample(sample, here.at("sample")) };
    case "roots":
      return { action: "accept", kind, response: { roots: readRoots(roots, here.at("roots")) } };
  }
}

/** What a form's answer may carry (D26). Whether it fits is seen when there is a form. */
function readContent(value: unknown, place: Place): FormContent {
  const entries = Object.entries(place.map(value));
  if (entries.length > CONTENT_MOST.fields) place.refuse("has too many fields", `write at most ${CONTENT_MOST.fields}`);
  for (const [name, one] of entries) {
    const fits =
      ["string", "number", "boolean"].includes(typeof one) ||
      (Array.isArray(one) && one.length <= CONTENT_MOST.items && one.every((item) => typeof item === "string"));
    if (!fits) place.at(name).refuse("is not text, a number, a boolean or a list of texts", "write one of these (D26)");
  }
  return Object.fromEntries(entries) as FormContent;
}

function readSecrets(value: unknown, place: Place): readonly string[] {
  if (value === undefined) return [];
  const names = place.list(value, 0, CONTENT_MOST.secrets).map((one, index) => {
    return typeof one === "string" ? one : place.at(index).refuse("is not text", "write a field's name");
  });
  return place.distinct(names);
}

function readSample(value: unknown, place: Place) {
  const { model, text } = place.object(value, ["model", "text"]);
  return {
    role: "assistant" as const,
    content: { type: "text" as const, text: place.at("text").text(text, SAMPLE_MOST) },
    model: place.at("model").text(model, REASON_MOST),
  };
}

function readRoots(value: unknown, place: Place): Root[] {
  return place.list(value, 0, CONTENT_MOST.fields).map((one, index) => {
    const here = place.at(index);
    const { uri, name } = here.object(one, ["uri", "name"]);
    const file = typeof uri === "string" && uri.startsWith("file:///") && rootsBreach([{ uri }]) === undefined;
    if (!file) here.at("uri").refuse("is not the address of a folder", "write it as file:///home/me/project (F23)");
    if (name !== undefined && typeof name !== "string") here.at("name").refuse("is not text", "write a string");
    return { uri: uri as string, ...(name !== undefined && { name: name as string }) };
  });
}
