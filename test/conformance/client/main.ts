/** The client under test, as the suite starts it: one scenario, named in the environment, against the URL given. */
import { type Context, scenario } from "./scenarios.ts";

const name = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const url = process.argv[2] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context;

const run = scenario(name);
if (run === undefined) throw new Error(`There is no scenario ${name}.`);
await run(url, context);
// Sockets that the SDK keeps open must not hold up the suite.
process.exit(0);
