/** Leaving secrets out of what is written down (F1, B35), and whatever repeats them later. */
import { isObject } from "../internal/json.ts";
import { type Field, readForm, secretIn } from "../protocol/form/index.ts";
import type { ElicitFormParams, ElicitResult, FormContent, InputRequest, InputResponse } from "../protocol/types.ts";
import { disguisesOf } from "./disguises.ts";

/** Stands where a secret was. */
export const MASK = "[masked]";

export interface Masked<T> {
  readonly value: T;
  /** JSON pointers of what was left out. */
  readonly masked: readonly string[];
}

/** A random-looking part of an address: a ticket, a code. */
const LONG_SEGMENT = 20;
/** Texts of the server's own that are remembered per call: it must not make every search a long one (F4). */
const MOST_OF_SERVER = 100;
/** Shorter texts are taken out only where they stand alone: a typed "5" must not eat the "15" of a limit. */
const WHOLE_WORD = 4;

/** Knows what one call must not repeat. */
export class Masker {
  readonly #keepSecrets: boolean;
  readonly #secrets = new Set<string>();
  #wipe: Wipe | undefined;
  #ofServer = 0;

  constructor(keepSecrets: boolean) {
    this.#keepSecrets = keepSecrets;
  }

  /** From now on `text` is taken out of everything. For states, and for what is masked here. */
  hide(text: string): void {
    const trimmed = text.trim();
    if (trimmed === "" || this.#secrets.has(trimmed)) return;
    this.#secrets.add(trimmed);
    this.#wipe = undefined;
  }

  /** `params` without `_meta`; arguments under secret-looking names, and such parts of an address, are masked. */
  params({ _meta: _, ...params }: Readonly<Record<string, unknown>>): Masked<Readonly<Record<string, unknown>>> {
    const masked: string[] = [];
    const copy: Record<string, unknown> = { ...params };
    if (!this.#keepSecrets) {
      copy["arguments"] = this.#maskNamed(params["arguments"], "/arguments", false, masked);
      if (typeof params["uri"] === "string") {
        copy["uri"] = this.#address(params["uri"], (name) => secretIn(name, { name: true }) !== undefined);
        if (copy["uri"] !== params["uri"]) masked.push("/uri");
      }
      if (copy["arguments"] === undefined) delete copy["arguments"];
    }
    return { value: this.scrub(copy), masked };
  }

  question(request: InputRequest): InputRequest {
    if (this.#keepSecrets || request.method !== "elicitation/create") return this.scrub(request);
    if (request.params.mode === "url") {
      const url = this.#address(request.params.url, () => true, true);
      return this.scrub({ ...request, params: { ...request.params, url } });
    }
    // A default in such a field may be the secret itself.
    for (const { name, secret } of fieldsOf(request)) {
      const property: unknown = (request.params as ElicitFormParams).requestedSchema.properties[name];
      if (secret !== undefined && isObject(property)) this.#hideServers(property["default"]);
    }
    return this.scrub(request);
  }

  answer(request: InputRequest, answer: InputResponse): Masked<InputResponse> {
    const masked: string[] = [];
    const content = "action" in answer ? (answer as ElicitResult).content : undefined;
    if (this.#keepSecrets || content === undefined) return { value: this.scrub(answer), masked };
    const secret = new Set(fieldsOf(request).flatMap((field) => (field.secret === undefined ? [] : [field.name])));
    const entries = Object.entries(content).map(([name, value]) => {
      if (!secret.has(name)) return [name, value] as const;
      this.#hideLeaves(value);
      masked.push(`/content/${escaped(name)}`);
      return [name, MASK] as const;
    });
    const rest: FormContent = Object.fromEntries(entries);
    return { value: this.scrub<InputResponse>({ action: "accept", content: rest }), masked };
  }

  /** A copy without what was hidden, wherever it stands: in texts, names of members, lists. */
  scrub<T>(value: T): T {
    if (this.#secrets.size === 0) return value;
    this.#wipe ??= wiper(this.#secrets);
    return scrub(value, this.#wipe) as T;
  }

  #maskNamed(value: unknown, pointer: string, secret: boolean, masked: string[]): unknown {
    if (isObject(value) || Array.isArray(value)) {
      const entries = Object.entries(value).map(([name, member]) => {
        const named = secret || (!Array.isArray(value) && secretIn(name, { name: true }) !== undefined);
        return [name, this.#maskNamed(member, `${pointer}/${escaped(name)}`, named, masked)] as const;
      });
      return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
    }
    if (!secret || (typeof value !== "string" && typeof value !== "number")) return value;
    this.#hideLeaves(value);
    masked.push(pointer);
    return MASK;
  }

  /** A person's own: a server may also give it back encoded. */
  #hideLeaves(value: unknown): void {
    if (Array.isArray(value)) for (const one of value) this.#hideLeaves(one);
    if (typeof value !== "string" && typeof value !== "number") return;
    const text = String(value).trim();
    for (const one of [text, ...disguisesOf(text)]) this.hide(one);
  }

  #hideServers(text: unknown): void {
    if (typeof text !== "string" || this.#secrets.has(text.trim()) || this.#ofServer >= MOST_OF_SERVER) return;
    this.#ofServer += 1;
    this.hide(text);
  }

  /** Without user name, the values of the parameters named, and with `long` without fragment and long path segments. */
  #address(address: string, isSecret: (parameter: string) => boolean, long = false): string {
    if (!URL.canParse(address)) return address;
    const url = new URL(address);
    let changed = url.username !== "" || url.password !== "";
    if (url.password !== "") this.#hideServers(url.password);
    url.username = "";
    url.password = "";
    const take = (text: string): string => {
      changed = true;
      if (text.length >= LONG_SEGMENT) this.#hideServers(text);
      return MASK;
    };
    // Pair by pair as it is written: to set one at a time would write the whole address down each time.
    const pairs = url.search.slice(1).split("&");
    const shown = pairs.map((pair) => {
      const [[name, value] = ["", ""]] = new URLSearchParams(pair);
      if (value === "") return long && pair.length >= LONG_SEGMENT ? take(pair) : pair;
      if (!isSecret(name)) return pair;
      take(value);
      const at = pair.indexOf("=") + 1;
      take(pair.slice(at));
      return `${pair.slice(0, at)}${MASK}`;
    });
    url.search = shown.join("&");
    if (long && url.hash !== "") url.hash = take(url.hash.slice(1));
    if (long) {
      const segments = url.pathname.split("/");
      url.pathname = segments.map((one) => (one.length >= LONG_SEGMENT ? take(one) : one)).join("/");
    }
    return changed ? url.href.replaceAll(encodeURIComponent(MASK), MASK) : address;
  }
}

function fieldsOf(request: InputRequest): readonly Field[] {
  if (request.method !== "elicitation/create" || request.params.mode === "url") return [];
  return readForm(request.params.requestedSchema);
}

function escaped(step: string): string {
  return step.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Takes texts out of others. */
type Wipe = (text: string) => string;

/**
 * Longest first, so that of two secrets, one inside the other, nothing is left over. Long ones are no patterns: a state
 * may have a megabyte.
 */
function wiper(secrets: ReadonlySet<string>): Wipe {
  const all = [...secrets].toSorted((a, b) => b.length - a.length);
  const words = all
    .filter((text) => text.length < WHOLE_WORD)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern =
    words.length === 0 ? undefined : new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})(?![\\p{L}\\p{N}])`, "gu");
  const long = all.filter((text) => text.length >= WHOLE_WORD);
  return (text) => {
    const without = long.reduce((left, secret) => left.replaceAll(secret, MASK), text);
    return pattern === undefined ? without : without.replace(pattern, MASK);
  };
}

/** Members whose values are words of the protocol, and names of members that are: a secret may be such a word, too. */
const WORDS = new Set(["method", "mode", "type", "action", "role", "format", "$schema"]);
const NAMES = new Set([
  ...WORDS,
  ..."params message required requestedSchema properties title description default minimum maximum".split(" "),
  ..."minLength maxLength enum enumNames oneOf anyOf const items minItems maxItems url".split(" "),
  ..."content text model stopReason roots name uri messages arguments structuredContent".split(" "),
  ..."isError contents mimeType maxTokens systemPrompt tools toolChoice data resource".split(" "),
]);

function scrub(value: unknown, wipe: Wipe): unknown {
  if (typeof value === "string") return wipe(value);
  if (typeof value === "number") {
    const text = String(value);
    return text.length >= WHOLE_WORD && wipe(text) === MASK ? MASK : value;
  }
  if (Array.isArray(value)) return value.map((item) => scrub(item, wipe));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, member]) => [
    NAMES.has(name) ? name : wipe(name),
    WORDS.has(name) && typeof member === "string" ? member : scrub(member, wipe),
  ]);
  return Object.fromEntries(entries) as unknown;
}
