import {
  Client,
  type DiscoverResult,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { type Calls, capabilitiesOf, createCalls, type Responders } from "../../../src/client.ts";
import { createBrowserlessLogin, type Login } from "./login.ts";

/** A connected client of the SDK, and our driver over it: everything that may ask goes through `calls`. */
export interface Session {
  readonly client: Client;
  readonly calls: Calls;
  /** Runs `act`, logging in as often as the server asks for it. */
  authorized<T>(act: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** What can answer. The client declares exactly that. */
  readonly responders?: Responders;
  /** Adopted instead of asking: some of the suite's servers do not serve `server/discover`. */
  readonly discover?: DiscoverResult;
  readonly login?: Login;
}

export async function openSession(url: string, options: SessionOptions = {}): Promise<Session> {
  const { responders = {}, discover, login = createBrowserlessLogin() } = options;
  const newClient = () =>
    new Client(
      { name: "parley-conformance", version: "1.0.0" },
      { capabilities: capabilitiesOf(responders) as never, versionNegotiation: { mode: "auto" } },
    );
  const prior = discover && { prior: { kind: "modern" as const, discover } };
  for (;;) {
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: login.provider });
    const client = newClient();
    try {
      await client.connect(transport as Transport, prior);
      return {
        client,
        calls: createCalls(client, { server: "suite", responders }),
        authorized: (act) => authorized(act, transport, login),
        close: () => client.close(),
      };
    } catch (error) {
      await logIn(error, transport, login);
    }
  }
}

async function authorized<T>(
  act: () => Promise<T>,
  transport: StreamableHTTPClientTransport,
  login: Login,
): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      await logIn(error, transport, login);
    }
  }
}

/** Ends the login that the SDK began before it threw `error`; anything else, or one login too many, is thrown on. */
async function logIn(error: unknown, transport: StreamableHTTPClientTransport, login: Login): Promise<void> {
  const callback = login.takeCallback();
  if (!(error instanceof UnauthorizedError) || callback === undefined) throw error;
  await transport.finishAuth(callback);
}
