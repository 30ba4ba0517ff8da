/** The grammar of the command line. Each command is loaded when it is run: a wrong flag is answered at once. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { MrtrMethod } from "../protocol/types.ts";
import type { CallFlags } from "./call/call.ts";
import { EXIT, type ExitCode, errorLine } from "./exit.ts";
import { CALL_HELP, CODES, INBOX_HELP, POLICY_HELP, REPLAY_HELP, SERVE_HELP } from "./help.ts";
import type { InboxFlags } from "./inbox/inbox.ts";
import type { Io } from "./io.ts";
import type { CheckFlags } from "./policy/check.ts";
import type { ReplayFlags } from "./replay/replay.ts";
import type { ServeFlags } from "./serve/serve.ts";
import { VERSION } from "./version.ts";

export const DEFAULT_PORT = 3000;
export const DEFAULT_HOST = "127.0.0.1";

/** Runs one command line to its end. Prints; throws nothing. */
export async function run(argv: readonly string[], io: Io, signal: AbortSignal): Promise<ExitCode> {
  // Commander drops "--", and where it stood is what tells a server's command from a name.
  const cut = argv.indexOf("--");
  const head = cut < 0 ? argv : argv.slice(0, cut);
  const command = cut < 0 ? undefined : argv.slice(cut + 1);
  let exit: ExitCode = EXIT.complete;
  const program = build(io, command, signal, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(head, { from: "user" });
    return exit;
  } catch (error) {
    if (error instanceof CommanderError) return commanderExit(error, io);
    const { reportFailure } = await import("./failure.ts");
    return reportFailure(error, io).exit;
  }
}

function build(
  io: Io,
  command: readonly string[] | undefined,
  signal: AbortSignal,
  ended: (code: ExitCode) => void,
): Command {
  const program = new Command("parley")
    .description("Serve and call MCP tools, prompts and resources that ask in the middle of a call.")
    .version(VERSION)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: () => {} })
    .addHelpText("after", CODES);
  // Subcommands inherit the settings above from here on.

  program
    .command("serve")
    .description("serve what a module exports, over HTTP or stdio")
    .argument("<module>", "path or package name of an ES module")
    .addOption(
      new Option("--port <n>", "0 for any free one").argParser(readPort).default(DEFAULT_PORT).conflicts("stdio"),
    )
    .addOption(
      new Option("--host <h>", "address to listen on").argParser(readHost).default(DEFAULT_HOST).conflicts("stdio"),
    )
    .addOption(new Option("--stdio", "serve one client on standard input and output"))
    .addOption(new Option("--bearer-tokens <file>", "who may call, for development").conflicts("stdio"))
    .addHelpText("after", SERVE_HELP)
    .action(async (module: string, flags: ServeFlags) => {
      noCommand(command);
      const { serve } = await import("./serve/serve.ts");
      return serve(module, flags, io, signal);
    });

  for (const { verb, method, operand, description } of VERBS) {
    const one = program
      .command(verb)
      .description(description)
      .usage(`<url> <${operand}> [options]\n       parley ${verb} <${operand}> [options] -- <command> [args...]`)
      .argument("<operands...>", `the server's URL and the ${operand}, or the ${operand} alone`)
      .addOption(new Option("--answers <file>", "answer questions from this file"))
      .addOption(new Option("--policy <file>", "let the rules of this file decide first"))
      .addOption(new Option("--record <file>", "write a transcript to this new file"))
      .addOption(
        new Option("--record-keep <what>", "state or secrets: keep them in it; repeatable").argParser(readKeep),
      )
      .addOption(new Option("--model-url <url>", "answer sampling from this OpenAI-compatible endpoint"))
      .addOption(new Option("--model <name>", "the model to use there"))
      .addOption(new Option("--header <h>", 'send "Name: value" to a URL; repeatable').argParser(collect))
      .addOption(new Option("--json", "print one JSON object"))
      .addHelpText("after", CALL_HELP)
      .action(async (operands: string[], flags: CallFlags) => {
        if (operands.length > 2) throw new CommanderError(EXIT.usage, "excess", `too many arguments for ${verb}`);
        const { call } = await import("./call/call.ts");
        ended(await call({ method, operands, command, flags }, io, signal));
      });
    if (method !== "resources/read") one.option("--args <json>", "arguments, one JSON object");
  }

  program
    .command("inbox")
    .description("let calls wait for a person, who answers in a browser")
    .addOption(new Option("--server <name=url|command>", "a server; repeatable").argParser(collect))
    .addOption(new Option("--header <name=h>", 'send "Name: value" to that server; repeatable').argParser(collect))
    .addOption(new Option("--port <n>", "0 for any free one").argParser(readPort).default(0))
    .addOption(new Option("--host <h>", "address to listen on").argParser(readHost).default(DEFAULT_HOST))
    .addOption(new Option("--store <file>", "keep calls in this SQLite file (needs the package better-sqlite3)"))
    .addOption(new Option("--policy <file>", "let the rules of this file decide first"))
    .addOption(new Option("--model-url <url>", "answer sampling from this OpenAI-compatible endpoint"))
    .addOption(new Option("--model <name>", "the model to use there"))
    .addOption(new Option("--roots <dir...>", "folders that servers may be told of, after a yes"))
    .addOption(new Option("--start <name:tool>", "call a tool at once"))
    .addOption(new Option("--args <json>", "its arguments, one JSON object"))
    .addHelpText("after", INBOX_HELP)
    .action(async (flags: InboxFlags) => {
      noCommand(command);
      const { inbox } = await import("./inbox/inbox.ts");
      return inbox(flags, io, signal);
    });

  program
    .command("replay")
    .description("make a recorded call again and say what is different")
    .usage("<transcript> <url> [options]\n       parley replay <transcript> [options] -- <command> [args...]")
    .argument("<operands...>", "the transcript, and the server's URL")
    .addOption(new Option("--answers <file>", "answers to give instead of the recorded ones, by key"))
    .addOption(new Option("--args <json>", "arguments to send instead of the recorded ones, one JSON object"))
    .addOption(new Option("--answer-changed", "give the recorded answer to a question that has changed, too"))
    .addOption(new Option("--header <h>", 'send "Name: value" to a URL; repeatable').argParser(collect))
    .addOption(new Option("--json", "print one JSON object"))
    .addHelpText("after", REPLAY_HELP)
    .action(async (operands: string[], flags: ReplayFlags) => {
      if (operands.length > 2) throw new CommanderError(EXIT.usage, "excess", "too many arguments for replay");
      const { replay } = await import("./replay/replay.ts");
      ended(await replay({ operands, command, flags }, io, signal));
    });

  program
    .command("policy")
    .description("look at a policy file")
    .command("check")
    .description("say whether a policy file is right, and which of its rules would decide")
    .argument("<file>", "the policy")
    .addOption(new Option("--server <id>", "your own name for the server that asks"))
    .addOption(new Option("--tool <name>", "the tool that is called").conflicts(["prompt", "resource"]))
    .addOption(new Option("--prompt <name>", "the prompt that is got").conflicts(["tool", "resource"]))
    .addOption(new Option("--resource <uri>", "the resource that is read").conflicts(["tool", "prompt", "args"]))
    .addOption(new Option("--args <json>", "arguments, one JSON object"))
    .addOption(new Option("--key <key>", "the question's key"))
    .addOption(new Option("--question <file>", "the question, as the server sends it; - for standard input"))
    .addOption(
      new Option("--transcript <file>", "the questions of a transcript").conflicts(["server", "tool", "question"]),
    )
    .addOption(new Option("--harmless", "the server says that the tool does no harm"))
    .addOption(new Option("--json", "print one JSON object"))
    .addHelpText("after", POLICY_HELP)
    .action(async (file: string, flags: CheckFlags) => {
      noCommand(command);
      const { check } = await import("./policy/check.ts");
      await check(file, flags, io);
    });

  program
    .command("keygen")
    .description("print a fresh key for PARLEY_KEYS; its id goes to standard error")
    .option("--json", "print one JSON object with key and id")
    .action(async (flags: { json?: boolean }) => {
      noCommand(command);
      const { keygen } = await import("./keygen.ts");
      keygen(flags, io);
    });
  return program;
}

const VERBS: readonly { verb: string; method: MrtrMethod; operand: string; description: string }[] = [
  { verb: "call", method: "tools/call", operand: "tool", description: "call a tool and answer what it asks" },
  { verb: "prompt", method: "prompts/get", operand: "name", description: "get a prompt and answer what it asks" },
  { verb: "read", method: "resources/read", operand: "uri", description: "read a resource and answer what it asks" },
];

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("It is not a number from 0 to 65535.");
  return port;
}

function readHost(text: string): string {
  if (!/^[\w.:-]+$/.test(text)) throw new InvalidArgumentError("It is not a host name or address.");
  return text;
}

function readKeep(value: string, before: string[] | undefined): string[] {
  if (value !== "state" && value !== "secrets") throw new InvalidArgumentError("It is neither state nor secrets.");
  return collect(value, before);
}

function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function noCommand(command: readonly string[] | undefined): void {
  if (command !== undefined) throw new CommanderError(EXIT.usage, "excess", "nothing goes after -- here");
}

/** Help and version are no errors; everything else commander complains about is one line. */
function commanderExit({ code, message, exitCode }: CommanderError, io: Io): ExitCode {
  if (exitCode === 0) return EXIT.complete;
  const what = code === "commander.help" ? "a command is missing" : message.replace(/^error: /, "");
  io.err(errorLine({ message: what, remedy: 'see "parley --help", or "parley <command> --help"' }));
  return EXIT.usage;
}
