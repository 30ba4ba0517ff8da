// Asks one form at the terminal it runs in and prints the answer on standard output, as a host would.
const { terminalAvailable, terminalResponders } = await import(process.argv[2]);
if (!terminalAvailable()) {
  process.stdout.write("NO TERMINAL\n");
  process.exit(3);
}
const asked = terminalResponders().form(
  {
    message: "Deploy \x1b[2J\u202enow?",
    requestedSchema: {
      type: "object",
      required: ["env", "count"],
      properties: {
        env: {
          type: "string",
          oneOf: [
            { const: "prod", title: "Production" },
            { const: "dev", title: "Development" },
          ],
        },
        count: { type: "integer", minimum: 1, maximum: 9 },
        note: { type: "string", minLength: 3 },
        tags: { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
      },
    },
  },
  {
    server: { id: "deploy-server" },
    method: "tools/call",
    target: "deploy",
    params: { arguments: { env: "?" } },
    key: "window",
    round: 1,
    signal: new AbortController().signal,
  },
);
process.stdout.write(
  await asked.then(
    (answer) => `ANSWER ${JSON.stringify(answer)}\n`,
    (error) => `ENDED ${error.code}\n`,
  ),
);
