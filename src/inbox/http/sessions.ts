/** Who may use the page: whoever opened the one-time link that was printed where the inbox was started. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** One browser. */
export interface OpenSession {
  readonly csrf: string;
}

/** Sessions at once; links are one-time, so there are no more than were asked for. */
const MAX_SESSIONS = 16;

/** Links and sessions live as long as the process. Only digests are compared, in constant time. */
export class Sessions {
  readonly #links = new Set<string>();
  readonly #sessions = new Map<string, OpenSession>();

  /** A fresh one-time token. */
  link(): string {
    const token = randomToken();
    this.#links.add(digest(token));
    return token;
  }

  /** Uses a token up; the id of the session it opens. */
  open(token: string): string | undefined {
    const used = find(this.#links, token);
    if (used === undefined || this.#sessions.size >= MAX_SESSIONS) return undefined;
    this.#links.delete(used);
    const id = randomToken();
    this.#sessions.set(digest(id), { csrf: randomToken() });
    return id;
  }

  /** The session that one of `ids` opens. */
  find(ids: readonly string[]): OpenSession | undefined {
    for (const id of ids) {
      const found = find(this.#sessions.keys(), id);
      if (found !== undefined) return this.#sessions.get(found);
    }
    return undefined;
  }
}

export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));
}

function find(digests: Iterable<string>, secret: string): string | undefined {
  const wanted = Buffer.from(digest(secret));
  return [...digests].find((one) => timingSafeEqual(Buffer.from(one), wanted));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function randomToken(): string {
  return randomBytes(32).toString("base64url");
}
