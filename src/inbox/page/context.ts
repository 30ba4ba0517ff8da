import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Api, type PageProblem } from "./client.ts";
import type { Live } from "./live.ts";

/** What every view needs: the inbox, news of changes, and a voice for people who do not see the page. */
export interface PageContext {
  readonly api: Api;
  readonly live: Live;
  readonly announce: (text: string) => void;
}

const Page = createContext<PageContext>({
  api: new Api(),
  live: { connection: "connecting", changes: 0 },
  announce: () => {},
});
export const PageProvider = Page.Provider;
export const usePage = () => useContext(Page);

export interface Resource<T> {
  readonly value: T | undefined;
  readonly problem: PageProblem | undefined;
  /** Shows what a request answered, and asks once more: it may have been overtaken on its way. */
  readonly set: (value: T) => void;
  readonly refresh: () => void;
}

interface Shown<T> {
  readonly path: string;
  readonly value?: T;
  readonly problem?: PageProblem;
}

/** Fetches `path` now and after every change; what is there stays while the next is under way. */
export function useResource<T extends object>(path: string): Resource<T> {
  const { api, live } = usePage();
  const [shown, setShown] = useState<Shown<T>>({ path });
  const [asked, setAsked] = useState(0);
  const latest = useRef(0);
  useEffect(() => {
    latest.current += 1;
    const mine = latest.current;
    void api.get<T>(path).then((reply) => {
      if (mine !== latest.current) return;
      if (reply.ok) setShown((before) => newer(before, { path, value: reply.value }));
      else setShown((before) => ({ ...(before.path === path ? before : { path }), problem: reply.problem }));
    });
  }, [api, path, live.changes, asked]);
  const current = shown.path === path ? shown : { path };
  const refresh = () => setAsked((count) => count + 1);
  return {
    value: current.value,
    problem: current.problem,
    set(value) {
      setShown((before) => newer(before, { path, value }));
      refresh();
    },
    refresh,
  };
}

/** Answers overtake each other: what carries a version never gives way to an older one. */
function newer<T extends object>(before: Shown<T>, after: Shown<T>): Shown<T> {
  if (before.path !== after.path || before.value === undefined || after.value === undefined) return after;
  return versionOf(after.value) < versionOf(before.value) ? before : after;
}

function versionOf(value: object): number {
  return "version" in value && typeof value.version === "number" ? value.version : 0;
}
