/**
 * A resource that asks. Reading a patient's record takes a stated purpose, which goes into the access log before
 * anything is shown; each read asks anew, and no cache may answer for it.
 * Run: npx parley serve examples/dist/resource-that-asks/server.js --port 3000
 */
import { ResourceTemplate } from "@modelcontextprotocol/server";
import { resource } from "mcp-parley";

/** Stands for your database. */
const RECORDS: ReadonlyMap<string, string> = new Map([["17", "Blood group 0+. No allergies."]]);
const accessLog: string[] = [];

const PURPOSES = { treatment: "I am treating this patient", billing: "For an invoice" };

export const record = resource(
  "patient-record",
  new ResourceTemplate("record://patients/{id}", { list: undefined }),
  { description: "A patient's record. States a purpose first.", mimeType: "text/plain" },
  async (uri, { id }, flow) => {
    const found = RECORDS.get(String(id));
    if (found === undefined) throw new Error(`There is no patient ${String(id)}.`);
    // A decline throws; a resource has no result that could say "no", so the read ends as a JSON-RPC error.
    const { purpose } = await flow.form("purpose", {
      message: `Why do you read the record of patient ${String(id)}? Your answer is logged.`,
      schema: {
        type: "object",
        properties: {
          purpose: {
            type: "string",
            title: "Purpose",
            oneOf: Object.entries(PURPOSES).map(([value, title]) => ({ const: value, title })),
          },
        },
        required: ["purpose"],
      },
    });
    // The purpose is the caller's claim: it is logged, and gives nobody a right that they do not have (C24).
    await flow.step("log", () => void accessLog.push(`${String(id)}: ${purpose}`));
    return { contents: [{ uri: uri.href, mimeType: "text/plain", text: `${found} (read for ${purpose})` }] };
  },
);

/** A resource that does not ask is a flow, too. */
export const log = resource("access-log", "record://log", { mimeType: "application/json" }, (uri) => ({
  contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(accessLog) }],
}));

export const name = "resource-that-asks";
export const version = "1.0.0";
export const flows = [record, log];
export default flows;
