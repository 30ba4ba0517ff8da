import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Ended } from "../helpers/cli.ts";

const MAIN = fileURLToPath(new URL("../../dist/demo/main.js", import.meta.url));

/** As `npm run demo` runs it: nothing set up, no terminal. */
async function demo(...args: string[]): Promise<Ended> {
  const { PARLEY_KEYS: _, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    ended.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    ended.err += chunk;
  });
  const [code] = await once(child, "close");
  return { code, ...ended };
}

describe("the demo", () => {
  it("shows a call over two replicas and four refusals, each after its control, and exits 0", {
    timeout: 90_000,
  }, async () => {
    const { code, out, err } = await demo();
    expect({ code, err }).toEqual({ code: 0, err: "" });

    const rounds = out.match(/^ {2}round \d .*$/gm) ?? [];
    expect(rounds).toHaveLength(4);
    expect(rounds[0]).toMatch(/replica [AB] {2}ran plan; asks ok and window; state \d+ bytes$/);
    expect(rounds[1]).toMatch(/replica [AB] {2}ran canary; asks go; state \d+ bytes$/);
    expect(rounds[2]).toMatch(/replica [AB] {2}asks note; state \d+ bytes$/);
    expect(rounds[3]).toMatch(/replica [AB] {2}ran rollout; complete; no state left$/);
    const replicas = rounds.map((line) => /replica ([AB])/.exec(line)?.[1]);
    expect(replicas[0]).not.toBe(replicas[1]);
    expect(replicas).toEqual([replicas[0], replicas[1], replicas[0], replicas[1]]);
    expect(out).toContain("Result: shop 1.5.0 goes to production tonight as deploy-");

    // Each refusal: the unchanged state first, then what the caller and what the operator see (C20).
    const scenes = [
      ...out.matchAll(/^ {4}unchanged {2}accepted; asks go\n {4}changed +(.*); the operator sees (\w+)$/gm),
    ];
    expect(scenes.map(([, , reason]) => reason)).toEqual(["tampered", "other_principal", "other_params", "expired"]);
    expect(new Set(scenes.map(([, seen]) => seen))).toEqual(
      new Set(['the caller sees -32602 "Invalid or expired requestState" {"reason":"invalid_request_state"}']),
    );
    expect(out.trimEnd()).toMatch(/Everything was as it should be\.$/);

    // M1: no state, no key, no token.
    expect(out).not.toMatch(/[\w-]{40,}/);
    expect(out).not.toContain("p1.");
  });

  it("--interactive without a terminal, and any other flag, is one line and exit 2", { timeout: 60_000 }, async () => {
    const headless = await demo("--interactive");
    expect(headless).toMatchObject({ code: 2, out: "" });
    expect(headless.err).toMatch(/^parley demo: --interactive asks at a terminal, and there is none: .+\n$/);
    expect(await demo("--fast")).toMatchObject({ code: 2, err: expect.stringMatching(/^parley demo: .*--fast.+\n$/) });
  });
});
