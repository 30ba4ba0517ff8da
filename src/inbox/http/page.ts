/** The page's three files, as they were built, and what a browser shows instead of them. */
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Safe } from "../../present/text.ts";

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

/** A person follows a link, or types an address: the page itself asks for JSON. */
export function isVisit({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.accept?.includes("text/html") === true;
}

/** Why there is no page, for a browser that has no session and so gets none of the page's files. */
export function plainPage(res: ServerResponse, status: number, message: Safe): void {
  const text = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley inbox</title>
<h1>The inbox cannot be shown</h1>
<p>${text}</p>
</html>
`;
  res.writeHead(status, { "Content-Type": "text/html; charset=utf-8" }).end(html);
}
