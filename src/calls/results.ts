/** Complete results, judged as the SDK's client judges them, for legs that go past it. */
import {
  type Result,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
  specTypeSchemas,
} from "@modelcontextprotocol/client";
import type { MrtrMethod } from "../protocol/types.ts";

interface Rule {
  readonly schema: StandardSchemaV1<unknown, unknown>;
  /** What the revision asks for and the SDK's exported schema, which serves older ones too, does not. */
  readonly breach: (raw: Readonly<Record<string, unknown>>) => string | undefined;
}

const RULES: Readonly<Record<MrtrMethod, Rule>> = {
  "tools/call": {
    schema: specTypeSchemas.CallToolResult,
    breach: ({ content }) => (Array.isArray(content) ? undefined : "content must be an array"),
  },
  "prompts/get": { schema: specTypeSchemas.GetPromptResult, breach: () => undefined },
  "resources/read": {
    schema: specTypeSchemas.ReadResourceResult,
    breach: ({ ttlMs, cacheScope }) => {
      if (!Number.isSafeInteger(ttlMs) || Number(ttlMs) < 0) return "ttlMs must be an integer from 0 (J1)";
      return cacheScope === "public" || cacheScope === "private"
        ? undefined
        : "cacheScope must be public or private (J1)";
    },
  },
};

/**
 * The result without its `resultType`, which is no part of it for the host.
 * @throws SdkError `INVALID_RESULT` or `UNSUPPORTED_RESULT_TYPE`.
 */
export async function readResult(method: string, raw: Readonly<Record<string, unknown>>): Promise<Result> {
  const { resultType, ...own } = raw;
  if (resultType !== "complete") {
    // Not quoted when it is no text: it may be too deep to.
    const named = typeof resultType === "string" ? JSON.stringify(resultType) : `of type ${typeof resultType}`;
    throw new SdkError(SdkErrorCode.UnsupportedResultType, `Unsupported result type ${named}`);
  }
  if (!isRuled(method)) return own;
  const { schema, breach } = RULES[method];
  const reason = breach(raw);
  if (reason !== undefined) throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${reason}`);
  const judged = await schema["~standard"].validate(own);
  if (judged.issues === undefined) return judged.value as Result;
  const [{ path = [], message } = { message: "it does not fit" }] = judged.issues;
  const where = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${where || "it"}: ${message}`);
}

function isRuled(method: string): method is MrtrMethod {
  return Object.hasOwn(RULES, method);
}
