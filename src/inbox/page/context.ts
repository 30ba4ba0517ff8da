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
  /** Puts in what a request answered, without asking again. */
  readonly set: (value: T) => void;
  readonly refresh: () => void;
}

/** Fetches `path` now and after every change; what is there stays while the next is under way. */
export function useResource<T>(path: string): Resource<T> {
  const { api, live } = usePage();
  const [state, setState] = useState<{ path: string; value?: T; problem?: PageProblem }>({ path });
  const [asked, setAsked] = useState(0);
  /** Counts requests and writes: an answer that was overtaken is dropped. */
  const latest = useRef(0);
  useEffect(() => {
    latest.current += 1;
    const mine = latest.current;
    void api.get<T>(path).then((reply) => {
      if (mine !== latest.current) return;
      if (reply.ok) setState({ path, value: reply.value });
      else
        setState((before) =>
          before.path === path ? { ...before, problem: reply.problem } : { path, problem: reply.problem },
        );
    });
  }, [api, path, live.changes, asked]);
  const current = state.path === path ? state : { path };
  return {
    value: current.value,
    problem: current.problem,
    set: (value) => {
      latest.current += 1;
      setState({ path, value });
    },
    refresh: () => setAsked((count) => count + 1),
  };
}
