/** The page's three files, as they were built. */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";

/** The path is the same from `src` and from `dist`. */
const BUILT = new URL("../../../dist/inbox/page/", import.meta.url);

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/app.css": ["app.css", "text/css; charset=utf-8"],
};

/** `false`: it is none of the page's files. */
export async function servePage(path: string, res: ServerResponse): Promise<boolean> {
  const [file, type] = Object.hasOwn(FILES, path) ? (FILES[path] ?? []) : [];
  if (file === undefined || type === undefined) return false;
  try {
    const content = await readFile(new URL(file, BUILT));
    res.writeHead(200, { "Content-Type": type }).end(content);
  } catch {
    res.writeHead(503, { "Content-Type": "text/plain; charset=utf-8" }).end("The page is not built.\n");
  }
  return true;
}
