/** A real browser. Where there is none, its tests are skipped by name; under CI=true they fail. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { whenReachable } from "../contract/servers.ts";

const EXECUTABLE = process.env["PARLEY_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
const ARGS = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** `describe`, or what stands in for it without a browser. */
export const inBrowser = await whenReachable("chromium", async () => {
  if (!existsSync(EXECUTABLE)) throw new Error(`there is no ${EXECUTABLE}; install the package "chromium"`);
});

export function launch(): Promise<Browser> {
  // Popups are blocked as in a person's browser: whether one came up is part of what is tested.
  return chromium.launch({ executablePath: EXECUTABLE, args: ARGS, ignoreDefaultArgs: ["--disable-popup-blocking"] });
}
