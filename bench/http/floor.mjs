// The least that does the work at all: read JSON, seal or open with AES-256-GCM, write JSON. It checks nothing else.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { finding, INFO, KEY, question, text } from "./work.mjs";

/** For the SDK's client, which asks this once. */
const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
};
const secret = randomBytes(32);

function seal(value, bound) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", secret, nonce).setAAD(bound);
  const body = cipher.update(JSON.stringify(value), "utf8");
  cipher.final();
  return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString("base64url");
}

function open(token, bound) {
  const bytes = Buffer.from(token, "base64url");
  const cipher = createDecipheriv("aes-256-gcm", secret, bytes.subarray(0, 12)).setAAD(bound);
  cipher.setAuthTag(bytes.subarray(-16));
  const body = cipher.update(bytes.subarray(12, -16), undefined, "utf8");
  return JSON.parse(body + cipher.final("utf8"));
}

export function listenerFor({ entries }) {
  const serve = ({ name, arguments: args, requestState, inputResponses }) => {
    const bound = createHash("sha256")
      .update(JSON.stringify(["tools/call", name, args]))
      .digest();
    const results = requestState === undefined ? [] : open(requestState, bound).results;
    for (let number = results.length; number < entries; number++) results.push(finding(number));
    const answer = requestState === undefined ? undefined : inputResponses?.[KEY];
    if (answer?.action === "accept") return { resultType: "complete", ...text(`${args.env} ${answer.content.when}`) };
    return {
      resultType: "input_required",
      inputRequests: { [KEY]: question(args.env) },
      requestState: seal({ results }, bound),
    };
  };
  const serverInfo = { "io.modelcontextprotocol/serverInfo": INFO };
  return (req, res) => {
    const chunks = [];
    req.on("data", (chunk) => chunks.push(chunk));
    req.on("end", () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
      const result = method === "server/discover" ? DISCOVERED : serve(params);
      const body = JSON.stringify({ jsonrpc: "2.0", id, result: { ...result, _meta: serverInfo } });
      res.writeHead(200, ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))]);
      res.end(body);
    });
  };
}
