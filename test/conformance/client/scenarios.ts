import type { DiscoverResult } from "@modelcontextprotocol/client";
import type { Responders } from "../../../src/client.ts";
import { createBrowserlessLogin } from "./login.ts";
import { openSession, type Session } from "./session.ts";

/** What the suite hands over for some scenarios, in `MCP_CONFORMANCE_CONTEXT`. */
export interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
}
type Scenario = (url: string, context: Context) => Promise<void>;

const DISCOVERED: DiscoverResult = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, prompts: {}, resources: {} },
  ttlMs: 0,
  cacheScope: "private",
};

const forms: Responders = { form: async () => ({ action: "accept", content: { confirmed: true } }) };
/** A host that can show every kind of question. */
const everything: Responders = {
  ...forms,
  url: async () => ({ action: "decline" }),
  sample: async () => ({ role: "assistant", model: "none", content: { type: "text", text: "pong" } }),
  roots: async () => ({ roots: [] }),
};

const scenarios: Readonly<Record<string, Scenario>> = {
  tools_call: async (url) => {
    await using(await openSession(url), async ({ client, calls }) => {
      await client.listTools();
      await calls.callTool({ name: "add_numbers", arguments: { a: 5, b: 3 } });
    });
  },

  // Connecting is enough: it must declare everything and get over a refused version.
  "request-metadata": async (url) => (await openSession(url, { responders: everything })).close(),

  "sep-2322-client-request-state": async (url) => {
    await using(await openSession(url, { responders: forms }), async ({ client, calls }) => {
      await client.listTools();
      // In a row, as the suite wants it: the later calls must know nothing of the earlier ones.
      for (const name of ["echo_state", "no_state", "unrelated", "no_result_type"]) {
        const { content } = await calls.callTool({ name: `test_mrtr_${name}`, arguments: {} });
        if (content.length === 0) throw new Error(`${name} was not driven to its result`);
      }
    });
  },

  "http-standard-headers": async (url) => {
    await using(await openSession(url, { discover: DISCOVERED }), async ({ client, calls }) => {
      const [tool] = (await client.listTools()).tools;
      await calls.callTool({ name: tool!.name, arguments: {} });
      const [resource] = (await client.listResources()).resources;
      await calls.readResource({ uri: resource!.uri });
      const [prompt] = (await client.listPrompts()).prompts;
      await calls.getPrompt({ name: prompt!.name });
    });
  },

  "http-custom-headers": async (url, { toolCalls = [] }) => {
    await using(await openSession(url, { discover: DISCOVERED }), async ({ client, calls }) => {
      await client.listTools();
      for (const call of toolCalls) await calls.callTool(call);
    });
  },

  "http-invalid-tool-headers": async (url) => {
    await using(await openSession(url, { discover: DISCOVERED }), async ({ client, calls }) => {
      for (const { name } of (await client.listTools()).tools) {
        await calls.callTool({ name, arguments: { region: "us-west1" } });
      }
    });
  },

  "json-schema-ref-no-deref": async (url) => {
    await using(await openSession(url), async ({ client }) => void (await client.listTools()));
  },

  "json-schema-2020-12-preservation": async (url) => {
    await using(await openSession(url), async ({ client, calls }) => {
      const tool = (await client.listTools()).tools.find(({ name }) => name === "json_schema_2020_12_tool");
      await calls.callTool({ name: "json_schema_echo", arguments: { schema: tool?.inputSchema } });
    });
  },
};

/** All of `auth/`: log in as asked, list, call. Scenarios with a bad server end with the error that is thrown here. */
const logInAndCall: Scenario = async (url, { client_id, client_secret }) => {
  const registered = client_id === undefined ? undefined : { client_id, ...(client_secret && { client_secret }) };
  const login = createBrowserlessLogin(registered);
  await using(await openSession(url, { login }), async ({ client, calls, authorized }) => {
    await authorized(() => client.listTools());
    await authorized(() => calls.callTool({ name: "test-tool", arguments: {} }));
  });
};

export function scenario(name: string): Scenario | undefined {
  return name.startsWith("auth/") ? logInAndCall : scenarios[name];
}

async function using(session: Session, act: (session: Session) => Promise<void>): Promise<void> {
  try {
    await act(session);
  } finally {
    await session.close();
  }
}
