/** Finds the real servers. Without one, its file is skipped by name; under CI=true it fails. */
import { describe, it } from "vitest";

export const REDIS_URL = process.env["PARLEY_TEST_REDIS"] ?? "redis://127.0.0.1:6379";
export const POSTGRES_URL = process.env["PARLEY_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";

/** `describe`, or what stands in for it when `probe` cannot reach the server. */
export async function whenReachable(what: string, probe: () => Promise<void>): Promise<typeof describe> {
  try {
    await probe();
    return describe;
  } catch (error) {
    const reason = `${what} cannot be reached (${error instanceof Error ? error.message || error.name : String(error)})`;
    if (process.env["CI"] === "true")
      return ((name: string) =>
        describe(name, () =>
          it("needs its server under CI", () => {
            throw new Error(reason);
          }),
        )) as unknown as typeof describe;
    return ((name: string, cases: () => void) =>
      describe.skip(`${name} [SKIPPED: ${reason}]`, cases)) as unknown as typeof describe;
  }
}
