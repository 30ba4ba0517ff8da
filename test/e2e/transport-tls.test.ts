/** The lean transport over https: a private authority is trusted when it is given, and only then. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { leanHttpTransport } from "../../src/client.ts";
import { handWritten } from "./calls-server.ts";

/** A key and a certificate for 127.0.0.1, made for this run by the machine's openssl. */
function certificate(): { key: Buffer; cert: Buffer } | undefined {
  const folder = mkdtempSync(join(tmpdir(), "parley-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=parley test", "-addext", "subjectAltName=IP:127.0.0.1"];
  try {
    execFileSync("openssl", ["req", "-x509", ...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } catch (error) {
    if (process.env["CI"]) throw error;
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
const identity = certificate();

test.skipIf(identity === undefined)(`https${identity ? "" : " (no openssl here: skipped)"}`, async () => {
  const handler = createMcpHandler(() => handWritten());
  const handle = toNodeHandler(handler);
  const server = createServer({ ...identity }, (req, res) => void handle(req as never, res as never));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const connect = async (tls?: object) => {
    const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    onTestFinished(() => client.close());
    await client.connect(leanHttpTransport(url, { ...(tls && { tls }) }));
    return client;
  };
  const client = await connect({ ca: identity?.cert });
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("deploy");
  await expect(connect()).rejects.toThrow(/self-signed certificate/);
});
