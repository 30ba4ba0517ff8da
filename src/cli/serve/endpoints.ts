/** The two ways to serve a module over HTTP. Both check Host and Origin, and bearer tokens where there are any. */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  localhostHostValidation,
  type NodeIncomingMessageLike,
  originValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  bearerAuthChallengeResponse,
  createMcpHandler,
  localhostAllowedOrigins,
  type McpServerFactory,
  type OAuthTokenVerifier,
  verifyBearerToken,
} from "@modelcontextprotocol/server";
import { bracketed, isLoopback } from "../../internal/net.ts";
import { byKind } from "../../server/native/options.ts";
import type { Parley } from "../../server/parley.ts";
import type { Endpoint } from "./http.ts";
import type { ServedModule } from "./module.ts";

export interface EndpointOptions {
  /** The address to listen on: it decides which names requests may use. */
  readonly host: string;
  /** Who may call. Without it, anybody. */
  readonly verifier?: OAuthTokenVerifier;
  readonly onError: (error: Error) => void;
}

/** Flows on `parley.handler`. */
export function nativeEndpoint(
  { name, version, flows }: ServedModule,
  parley: Parley,
  options: EndpointOptions,
): Endpoint {
  const { host, verifier, onError } = options;
  return parley.handler({
    name,
    version,
    ...byKind(flows),
    allowedOrigins: pages(host),
    ...(!isLoopback(host) && { allowedHosts: "any" }),
    ...(verifier && {
      authenticate: (headers) => verifyBearerToken(headers.get("authorization") ?? undefined, { verifier }),
    }),
    onError,
  });
}

/** What `factory` makes, on the SDK's own handler. */
export function sdkEndpoint(factory: McpServerFactory, parley: Parley, options: EndpointOptions): Endpoint {
  const { host, verifier, onError } = options;
  const handler = parley.taskSubscriptions(createMcpHandler(factory, { onerror: onError }));
  const handle = toNodeHandler(handler, { onerror: onError });
  const admits = guard(host);
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (!admits(req, res)) return;
    if (verifier !== undefined) {
      try {
        const auth = await verifyBearerToken(req.headers.authorization, { verifier });
        Object.assign(req, { auth });
      } catch (error) {
        return send(res, bearerAuthChallengeResponse(error));
      }
    }
    await handle(req as NodeIncomingMessageLike, res);
  };
  return {
    listener: (req, res) => {
      serve(req, res).catch((error: unknown) => {
        onError(error instanceof Error ? error : new Error(String(error)));
        res.destroy();
      });
    },
    close: () => handler.close(),
  };
}

/** On loopback a page of another site must get nowhere, by its own origin or by a name it rebinds (G27). */
function guard(host: string): (req: IncomingMessage, res: ServerResponse) => boolean {
  const origin = originValidation(pages(host));
  if (!isLoopback(host)) return origin;
  const name = localhostHostValidation();
  return (req, res) => name(req, res) && origin(req, res);
}

function pages(host: string): string[] {
  return [...localhostAllowedOrigins(), bracketed(host)];
}

async function send(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
}
