/** What an error means to who typed the command. */
import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { ParleyError, type ParleyErrorCode, rootOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { EXIT, type ExitCode, errorLine, type Failure, oneLine } from "./exit.ts";
import type { Io } from "./io.ts";

const ANSWER_REMEDY = "give an answer of that kind with --answers FILE or --policy FILE, or run it at a terminal";

const STACK_LINES = 100;

/** Codes that do not end with {@link EXIT.failed}, and what to do about the commonest ones that do. */
const BY_CODE: Partial<Record<ParleyErrorCode, readonly [ExitCode, string]>> = {
  usage: [EXIT.usage, 'see "parley --help"'],
  configuration: [EXIT.usage, ""],
  sdk_incompatible: [EXIT.usage, "install a version of the SDK that Parley is tested with"],
  unanswerable: [EXIT.refused, ANSWER_REMEDY],
  invalid_content: [EXIT.refused, "mend that answer"],
  human_timeout: [EXIT.refused, "call again and answer in time"],
  aborted: [EXIT.refused, "call again when you are ready"],
  rounds_exceeded: [EXIT.failed, "the server keeps asking: check the answers, or tell its author"],
  invalid_interim: [EXIT.failed, "the server breaks the revision's rules: tell its author"],
  invalid_result: [EXIT.failed, "tell the server's author"],
  connection_lost: [EXIT.failed, "check that it is running"],
  leg_timeout: [EXIT.failed, "call again, or look at the server's log"],
  limit_exceeded: [EXIT.failed, "tell the server's author"],
};

/** Why a question was not answered, where that says more than "nobody could". */
const WHY_UNANSWERED: Partial<Record<ParleyErrorCode, string>> = {
  input_declined: "you refused it",
  input_cancelled: "call again when you are ready",
  model_failed: "check --model-url, --model and PARLEY_MODEL_KEY",
  limit_exceeded: "the server asks too much of your model: tell its author",
};

/** Prints the one line (and the stack, if PARLEY_DEBUG asks for it). */
export function reportFailure(error: unknown, io: Io, server?: string): Failure {
  const failure = failureOf(error, server);
  io.err(errorLine(failure));
  if (process.env["PARLEY_DEBUG"] === "1" && error instanceof Error) printStack(error, io);
  return failure;
}

/** A stack begins with the message, which may be the server's: escaped, and set in so that no line passes for ours. */
function printStack({ stack = "" }: Error, io: Io): void {
  for (const line of stack.split("\n", STACK_LINES)) io.err(`  ${oneLine(line)}`);
}

/** @param server the host's own name for the server, if one was being called. */
export function failureOf(error: unknown, server = "the server"): Failure {
  if (error instanceof ParleyError) {
    const [exit, remedy] = BY_CODE[error.code] ?? [EXIT.failed, "see the server's log"];
    const cause = error.cause instanceof ParleyError ? error.cause : undefined;
    // What a responder says of why it has no answer is more to the point than the driver's word for it.
    const why = error.code === "unanswerable" && cause ? WHY_UNANSWERED[cause.code] : undefined;
    const own = error.details["remedy"] ?? cause?.details["remedy"] ?? why;
    return { exit, code: error.code, message: error.message, remedy: typeof own === "string" ? own : remedy };
  }
  if (error instanceof ProtocolError) return protocolFailure(error, server);
  if (error instanceof UnauthorizedError || hasCode(error, SdkErrorCode.ClientHttpAuthentication)) {
    const remedy = `give --header "Authorization: Bearer ..."`;
    return { exit: EXIT.failed, code: "unauthorized", message: `${server} does not accept this caller`, remedy };
  }
  return connectionFailure(error, server);
}

function protocolFailure({ code, message, data }: ProtocolError, server: string): Failure {
  if (code === ProtocolErrorCode.MissingRequiredClientCapability) {
    const required = isObject(data) ? data["requiredCapabilities"] : undefined;
    const asked = `${server} needs to ask (${namesOf(required).join(", ")}), and nothing here can answer`;
    return { exit: EXIT.refused, code, message: asked, remedy: ANSWER_REMEDY };
  }
  const refusedState = isObject(data) && data["reason"] === "invalid_request_state";
  const remedy = refusedState
    ? "call again from the start"
    : code === ProtocolErrorCode.InvalidParams
      ? "check the name and --args"
      : "look at the server's log";
  return { exit: EXIT.failed, code, message: `${server} answered error ${code}: ${message}`, remedy };
}

/** By the code of what the system or OpenSSL reported. */
const REMEDY_BY_CAUSE: Readonly<Record<string, string>> = {
  ENOENT: "check the command",
  EPROTO: "it does not speak TLS there: try http://",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS there: try http://",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "it does not speak TLS there: try http://",
};

function connectionFailure(error: unknown, server: string): Failure {
  const root = rootOf(error);
  const code = "code" in root && typeof root.code === "string" ? root.code : root.name;
  const [what, remedy] = hasCode(error, SdkErrorCode.EraNegotiationFailed)
    ? [`cannot talk to ${server}: ${root.message}`, "check that it is running and serves MCP revision 2026-07-28"]
    : [`the call to ${server} failed: ${root.message}`, REMEDY_BY_CAUSE[code] ?? "check that it is running"];
  return { exit: EXIT.failed, code, message: what, remedy };
}

function hasCode(error: unknown, code: SdkErrorCode): boolean {
  return error instanceof SdkError && error.code === code;
}

/** `{ elicitation: { form: {} }, roots: {} }` -> `elicitation.form`, `roots`. */
function namesOf(required: unknown): string[] {
  if (!isObject(required)) return ["something unnamed"];
  return Object.entries(required).flatMap(([name, members]) => {
    const inner = isObject(members) ? Object.keys(members) : [];
    return inner.length === 0 ? [name] : inner.map((member) => `${name}.${member}`);
  });
}
