/** The grammar of the command line. Each command is loaded when it is run: a wrong flag is answered at once. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { MrtrMethod } from "../protocol/types.ts";
import type { CallFlags } from "./call/call.ts";
import { EXIT, type ExitCode, errorLine } from "./exit.ts";
import type { Io } from "./io.ts";
import type { ServeFlags } from "./serve/serve.ts";
import { VERSION } from "./version.ts";

export const DEFAULT_PORT = 3000;
export const DEFAULT_HOST = "127.0.0.1";

const CODES = `
Exit codes:
  0  complete
  1  the tool reported an error of its own (isError)
  2  usage: a flag, a file, a module or an option is wrong; nothing was sent
  3  refused: a question was not answered, because nothing here can, nobody did in time, or you ended the call
  4  the server, the protocol or the connection failed

Every error is one line on standard error. PARLEY_DEBUG=1 adds a stack, set in.`;

const CALL_HELP = `
The server is an address, or a command that speaks MCP on its standard input and output. It must serve revision
2026-07-28. A command gets this environment, PARLEY_KEYS included.

Questions are answered from the answers file, or else at the terminal. With a file the terminal is not used, and a
question that the file does not answer fails the call. Without either, nothing is offered to the server.
At the terminal Escape leaves one question unanswered (a cancel); Ctrl-C ends the call, and nothing more is sent.

The answers file maps a question's key to its answer:
  {"ok": {"action": "accept", "content": {"confirm": true}},
   "go": {"action": "decline"},
   "sum": {"role": "assistant", "content": {"type": "text", "text": "..."}, "model": "mine"},
   "where": {"roots": [{"uri": "file:///home/me/project"}]}}
A list holds one answer for each time the question is asked.

--json prints one object: {"result": ..., "rounds": [{"questions": [keys], "stateBytes": n, "ms": n}]}, or
{"error": {"code": ..., "message": ...}, "rounds": [...]}.
${CODES}`;

const SERVE_HELP = `
The module exports flows (or default), an array of tool(), prompt() and resource(); or register(mcpServer, parley);
or both. It may export name, version and options (for createParley).

The tokens file, for development, maps a bearer token to its caller:
  {"<token>": {"subject": "alice", "clientId": "cli", "scopes": []}}
Without it callers are anonymous, and a state is not bound to a caller.

--mount native serves flows without an McpServer, several times as fast. register(mcpServer, parley) needs one, so a
module that exports it is served on the SDK's own handler, as --mount sdk does for any module.

PARLEY_KEYS holds the keys that seal states, newest first, separated by commas (see parley keygen).
SIGINT and SIGTERM stop the server: requests in flight get three seconds.
${CODES}`;

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
    .addOption(
      new Option("--mount <mount>", "how HTTP is served; native, unless the module exports register")
        .choices(["native", "sdk"])
        .conflicts("stdio"),
    )
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
