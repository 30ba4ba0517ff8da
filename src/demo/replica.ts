/** One server replica, a process of its own. It knows a key and who may call; it keeps nothing between two requests. */
import { verifyBearerToken } from "@modelcontextprotocol/server";
import { serveHttp } from "../cli/serve/http.ts";
import { type TokenCaller, tokenVerifier } from "../cli/serve/tokens.ts";
import { createParley } from "../server/parley.ts";
import { deployTool } from "./deploy.ts";
import type { ReplicaMessage } from "./replicas.ts";

const tell = (message: ReplicaMessage) => process.send?.(message);
const { DEMO_CALLERS = "{}", DEMO_ROUND_TTL_MS } = process.env;

const parley = createParley({
  replicas: "many", // without PARLEY_KEYS this replica would not start
  callers: "authenticated",
  onEvent: (event) => tell({ type: "event", event }),
  ...(DEMO_ROUND_TTL_MS !== undefined && { limits: { roundTtlMs: Number(DEMO_ROUND_TTL_MS) } }),
});
const deploy = deployTool((step) => tell({ type: "ran", step }));

const verifier = tokenVerifier(new Map(Object.entries(JSON.parse(DEMO_CALLERS) as Record<string, TokenCaller>)));
const endpoint = parley.handler({
  name: "demo",
  version: "1.0.0",
  tools: [deploy],
  authenticate: (headers) => verifyBearerToken(headers.get("authorization") ?? undefined, { verifier }),
});

const serving = await serveHttp({ host: "127.0.0.1", port: 0, endpoint });
// The parent ends this process by closing the channel, and takes it along should it die itself.
process.on("disconnect", () => void serving.stop().then(() => process.exit(0)));
tell({ type: "ready", url: serving.url });
