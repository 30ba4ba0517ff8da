/** Where the page is, kept in the address after "#". */
import { useEffect, useState } from "preact/hooks";

export type Route =
  | { readonly view: "inbox" }
  | { readonly view: "call"; readonly id: string }
  | { readonly view: "start"; readonly server?: string };

export function routeOf(hash: string): Route {
  const [view, id] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (view === "call" && id !== undefined) return { view, id };
  if (view === "start") return id === undefined || id === "" ? { view } : { view, server: id };
  return { view: "inbox" };
}

export function hrefOf(route: Route): string {
  if (route.view === "call") return `#/call/${encodeURIComponent(route.id)}`;
  if (route.view === "start")
    return `#/start${route.server === undefined ? "" : `/${encodeURIComponent(route.server)}`}`;
  return "#/";
}

export function go(route: Route): void {
  location.hash = hrefOf(route);
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    // It may have changed since the first drawing.
    changed();
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
