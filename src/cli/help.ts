/** What `--help` says beyond the list of flags. */
export const CODES = `
Exit codes:
  0  complete
  1  the tool reported an error of its own (isError)
  2  usage: a flag, a file, a module or an option is wrong; nothing was sent
  3  refused: a question was not answered, because nothing here can, nobody did in time, or you ended the call
  4  the server, the protocol or the connection failed
  5  a replay differs from its transcript

Every error is one line on standard error. PARLEY_DEBUG=1 adds a stack, set in.`;

export const CALL_HELP = `
The server is an address, or a command that speaks MCP on its standard input and output. It must serve revision
2026-07-28. A command gets this environment, PARLEY_KEYS included.

Questions are answered from the answers file, or else at the terminal. With a file the terminal is not used, and a
question that the file does not answer fails the call. Without either, nothing is offered to the server.
At the terminal Escape leaves one question unanswered (a cancel); Ctrl-C ends the call, and no answer is sent.
The answers of one round are shown together, and can be changed, before they are sent.
A call that the server goes on with as a task is looked after to its end, and how it stands is told on standard error.
Ctrl-C has the task cancelled at the server, and says whether that heard of it. A question of the
task that is not answered here does so, too: nobody would take the task up again.

With --model-url and --model a server may use a model, as in --model-url https://api.openai.com/v1 --model gpt-5-mini.
You approve each request, and each answer before it is sent, at the terminal; without a terminal sampling is not
offered. PARLEY_MODEL_KEY holds the endpoint's key; there is no flag for it.

The answers file maps a question's key to its answer:
  {"ok": {"action": "accept", "content": {"confirm": true}},
   "go": {"action": "decline"},
   "sum": {"role": "assistant", "content": {"type": "text", "text": "..."}, "model": "mine"},
   "where": {"roots": [{"uri": "file:///home/me/project"}]}}
A list holds one answer for each time the question is asked.

A policy decides before the file or the terminal is asked; what its rules do not answer goes there. Each answer of a
rule is said on standard error by the rule's name. A rule's server is the URL's host with its port, or the command's
words ("node server.mjs"). See parley policy check --help.

A transcript is for its owner only. It leaves out states, secret-looking fields and what repeats them; --record-keep
state and --record-keep secrets keep them. See parley replay --help.

--json prints one object: {"result": ..., "rounds": [{"questions": [keys], "stateBytes": n, "ms": n}]}, or
{"error": {"code": ..., "message": ...}, "rounds": [...]}; with a policy also "decisions": [{"rule", "action", "key", ...}].
${CODES}`;

export const SERVE_HELP = `
The module exports what tool(), prompt() and resource() make: each by a name of its own, or as the array flows (or
default); or register(mcpServer, parley); or both. It may export name, version and options (for createParley).

The tokens file, for development, maps a bearer token to its caller:
  {"<token>": {"subject": "alice", "clientId": "cli", "scopes": []}}
Without it callers are anonymous, and a state is not bound to a caller.

--mount native serves flows without an McpServer, several times as fast. register(mcpServer, parley) needs one, so a
module that exports it is served on the SDK's own handler, as --mount sdk does for any module.

PARLEY_KEYS holds the keys that seal states, newest first, separated by commas (see parley keygen).
SIGINT and SIGTERM stop the server: requests in flight get three seconds. Tasks that are running get tasks.drainMs (10 s) to
end, and as long again to stop when they are told to. A second signal ends the server at once, with exit code 4. What was
left goes on in another process, or at the next start, once its lease is over; memoryTasks forgets it.
${CODES}`;

export const INBOX_HELP = `
Calls wait here for a person, who answers them in a browser: open the link that is printed. It works once; Enter
prints another. A server is an address, or a command that speaks MCP on its standard input and output; quote
a command with its arguments: --server "files=node files.js". It must serve revision 2026-07-28.

Without --store calls are forgotten when the inbox ends. A file is readable by its owner alone; with PARLEY_KEYS what it
holds of a call is sealed too. It may be shared by several inboxes on this machine.

Only what can be served is offered to servers: forms and links always, sampling with a model, roots with --roots, each
time after a yes. PARLEY_MODEL_KEY holds the model's key; there is no flag for it. With --policy the rules decide first,
and history names the rule; a rule's server is the name given here.
Every refusal is a person's or a rule's: when the inbox ends, or time runs out, nothing is sent in anybody's name.
SIGINT and SIGTERM stop the inbox: requests in flight get three seconds, and calls that wait are kept in the store.
${CODES}`;

export const REPLAY_HELP = `
The call is really made: the server does again whatever it does. Questions are told by their keys and their order; the
server's new states are sent back, and the recorded ones never. An answer to a question whose words or schema have
changed is not given, and the replay stops there; --answer-changed gives it.
What the transcript leaves out must be given anew: answers with --answers, arguments with --args.

--json prints one object: {"changed": true, "calls": [{"method": ..., "target": ..., "changes": [...], "stopped": ...}]}.
${CODES}`;

export const POLICY_HELP = `
Without more, the file is checked. With --server, --question and one of --tool, --prompt and --resource, or with
--transcript, it is also said which rule would decide, and why the others do not. Nothing is called.
The file's format is policy.schema.json of this package, and docs/policy.md explains it.

--json prints one object: {"rules": n, "questions": [{"key": ..., "decision": ..., "rules": [...]}]}.
${CODES}`;
