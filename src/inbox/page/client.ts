/** The page's side of the inbox's routes (see `../api.ts`). Nothing here throws: a request that fails is a problem. */
import type { Decision, Problem, Session } from "../api.ts";

export interface PageProblem {
  /** One of the server's codes, or "unreachable" when there was no answer at all. */
  readonly code: string;
  readonly message: string;
  /** By field name. A map, since a field may be called `__proto__` (F4). */
  readonly fields: ReadonlyMap<string, string>;
  readonly decision?: Decision;
}

export type Reply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: PageProblem };

const UNREACHABLE: PageProblem = {
  code: "unreachable",
  message: "The inbox could not be reached. What you entered is still here; try again.",
  fields: new Map(),
};

export class Api {
  #csrf = "";
  /** How far the host's clock is ahead of this browser's, in ms. */
  #ahead = 0;

  /** The host's time, by which deadlines are read. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Learns the token for writing; again after every loss of connection, since the inbox may have been restarted. */
  async open(): Promise<Reply<Session>> {
    const reply = await this.get<Session>("/api/session");
    if (reply.ok) {
      this.#csrf = reply.value.csrf;
      this.#ahead = reply.value.now - Date.now();
    }
    return reply;
  }

  get<T>(path: string): Promise<Reply<T>> {
    return request(path, {});
  }

  post<T>(path: string, body?: unknown): Promise<Reply<T>> {
    return request(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-parley-csrf": this.#csrf },
      body: JSON.stringify(body ?? {}),
    });
  }
}

async function request<T>(path: string, init: RequestInit): Promise<Reply<T>> {
  try {
    const response = await fetch(path, { ...init, credentials: "same-origin", redirect: "error" });
    const body: unknown = await response.json();
    if (response.ok) return { ok: true, value: body as T };
    return { ok: false, problem: problemOf((body as Partial<Problem>).error) };
  } catch {
    return { ok: false, problem: UNREACHABLE };
  }
}

function problemOf(error: Problem["error"] | undefined): PageProblem {
  if (error === undefined) return UNREACHABLE;
  const { code, message, fields, decision } = error;
  return {
    code,
    message,
    fields: new Map(Object.entries(fields ?? {})),
    ...(decision === undefined ? {} : { decision }),
  };
}

/** A path with its ids escaped: `path`/api/calls/${id}``. */
export function path(words: TemplateStringsArray, ...ids: readonly string[]): string {
  return words.reduce((text, word, index) => `${text}${encodeURIComponent(ids[index - 1] ?? "")}${word}`);
}
