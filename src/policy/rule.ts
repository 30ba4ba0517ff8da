/** A policy file once it is read: what every rule asks for and says. The file's own shape is policy.schema.json. */
import type { FormContent, InputResponse, Json, MrtrMethod, QuestionKind } from "../protocol/types.ts";

/** What a name, a key or an argument is held against. Arguments may be any JSON; everything else is text. */
export type Matcher =
  | { readonly type: "oneOf"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly type: "glob"; readonly pattern: string }
  | { readonly type: "equals"; readonly value: Json };

export interface Conditions {
  readonly server?: Matcher;
  /** The method and its target: `tool`, `prompt` or `resource` in the file, which `member` keeps for explanations. */
  readonly target?: { readonly member: TargetMember; readonly method: MrtrMethod; readonly name: Matcher };
  readonly key?: Matcher;
  readonly kind?: QuestionKind;
  /** Hosts of a link, as the parsed address spells them: exact, with the port if there is one. */
  readonly hosts?: readonly string[];
  /** By JSON pointer (RFC 6901) into `params.arguments`, each with the pointer's steps. */
  readonly arguments: readonly {
    readonly pointer: string;
    readonly path: readonly string[];
    readonly value: Matcher;
  }[];
}

export type TargetMember = "tool" | "prompt" | "resource";
export const TARGET_METHODS: Readonly<Record<TargetMember, MrtrMethod>> = {
  tool: "tools/call",
  prompt: "prompts/get",
  resource: "resources/read",
};

export type Verdict =
  | { readonly action: "ask" }
  | { readonly action: "decline" }
  | { readonly action: "fail"; readonly reason: string }
  | {
      readonly action: "accept";
      readonly kind: "form";
      readonly content: FormContent;
      readonly secrets: readonly string[];
    }
  | { readonly action: "accept"; readonly kind: "url" }
  | { readonly action: "accept"; readonly kind: "sample" | "roots"; readonly response: InputResponse };

export interface Rule {
  readonly name: string;
  readonly when: Conditions;
  readonly verdict: Verdict;
  /** The kinds of question it can match. */
  readonly kinds: readonly QuestionKind[];
}

/** All of a policy file. */
export interface Rules {
  readonly rules: readonly Rule[];
  /** Servers, by the host's own names, whose word about their tools' harmlessness counts. */
  readonly trustAnnotations: readonly string[];
}
