/** One idea of "this computer" for what a flow may link to (E4), what is shown as such (L1), and where we listen. */
import { describe, expect, it } from "vitest";
import { tool } from "../../src/flow/define.ts";
import { isLoopback } from "../../src/internal/net.ts";
import { inspectUrl } from "../../src/present/url.ts";
import { startFlow } from "../../src/testing.ts";

const OURS = ["localhost", "app.localhost", "127.0.0.1", "127.8.9.10", "[::1]"];
const OTHERS = ["localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example", "128.0.0.1", "[::2]", "0.0.0.0"];

const asked = (host: string) =>
  startFlow(
    tool("connect", {}, async (_args, flow) => {
      await flow.url("link", { message: "Open it", url: `http://${host}:8080/` });
      return { content: [] };
    }),
  ).next();

describe("E4, L1: plain http is for this computer alone", () => {
  it.each(OURS)("%s is this computer", async (host) => {
    expect(isLoopback(host)).toBe(true);
    expect(inspectUrl(`http://${host}:8080/`)).toMatchObject({ ok: true });
    expect((await asked(host)).questions).toHaveProperty("link.params.url", `http://${host}:8080/`);
  });

  it.each(OTHERS)("%s is not", async (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(inspectUrl(`http://${host}:8080/`)).toMatchObject({ ok: false });
    await expect(asked(host)).rejects.toThrow("must be https:, or http: on loopback (E4)");
  });
});
