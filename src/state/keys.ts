/** The key ring: the newest key seals, every key opens, so that keys can be rotated under open calls (C21, B44). */
import { createHash, hkdfSync } from "node:crypto";
import { ParleyError } from "../errors.ts";
import type { RandomBytes } from "./random.ts";

/** Least length of a secret, in bytes. */
export const MIN_KEY_BYTES = 32;
/** Length of a key id, in base64url characters. */
export const KEY_ID_LENGTH = 8;

const DERIVED_BYTES = 32;
const VARIABLE = "PARLEY_KEYS";
const REMEDY = `Run "parley keygen" and give the key to every replica in ${VARIABLE}, or in the "keys" option.`;

export interface KeyRingOptions {
  /**
   * Secrets, newest first: raw bytes, or text in base64url, base64 or hex, of {@link MIN_KEY_BYTES} bytes or more.
   * Default: the variable PARLEY_KEYS (separated by commas or white space).
   */
  readonly keys?: readonly (string | Uint8Array)[];
  /** Where PARLEY_KEYS and NODE_ENV are read. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** "many": another process may serve the next round, so a key of this process alone is an error. Default "one". */
  readonly replicas?: "one" | "many";
  /** Default: `env.NODE_ENV`. "production" needs a key, as `replicas: "many"` does. */
  readonly nodeEnv?: string;
  readonly random: RandomBytes;
}

/** Something the operator should read at start-up. `code` is stable. */
export interface StateWarning {
  readonly code: "ephemeral_key";
  readonly message: string;
}

/** One key of the ring, for one purpose. */
export interface DerivedKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** Shows nothing but ids when printed or serialised: the secrets are private fields. */
export class KeyRing {
  /** Key ids, newest first. Ids are public: they travel in the clear. */
  readonly ids: readonly string[];
  readonly warnings: readonly StateWarning[];
  readonly #secrets: readonly Buffer[];

  constructor(secrets: readonly Buffer[], warnings: readonly StateWarning[]) {
    this.#secrets = secrets;
    this.ids = secrets.map(keyId);
    this.warnings = warnings;
  }

  /** A 32-byte key per secret, newest first, for one purpose such as "mcp-parley/state/v1" (HKDF-SHA256, RFC 5869). */
  derive(purpose: string): DerivedKey[] {
    return this.#secrets.map((secret, index) => ({
      id: this.ids[index]!,
      key: Buffer.from(hkdfSync("sha256", secret, "", purpose, DERIVED_BYTES)),
    }));
  }
}

/**
 * Reads and checks the keys; they are copied.
 *
 * With none, a random key of this process serves and `warnings` says so; with `replicas: "many"` or in production that
 * is an error instead, because rounds would fail as soon as a second process serves one (B44).
 *
 * @throws ParleyError "configuration" that names the position of a bad key, never the key.
 */
export function createKeyRing(options: KeyRingOptions): KeyRing {
  const env = options.env ?? process.env;
  const nodeEnv = options.nodeEnv ?? env["NODE_ENV"];
  const given = options.keys ?? keysIn(env);
  const source = options.keys === undefined ? VARIABLE : 'the "keys" option';
  if (given.length > 0) return new KeyRing(readSecrets(given, source), []);
  if (options.keys !== undefined) {
    throw new ParleyError("configuration", `The "keys" option is empty: leave it out, or give a key. ${REMEDY}`);
  }

  const reason =
    options.replicas === "many" ? 'replicas is "many"' : nodeEnv === "production" ? "NODE_ENV is production" : null;
  if (reason !== null) throw new ParleyError("configuration", `No key to seal state with, and ${reason}. ${REMEDY}`);
  const message = `No key given: state is sealed with a random key of this process, so open calls end when it restarts, and no other process can serve them. ${REMEDY}`;
  return new KeyRing([Buffer.from(options.random(MIN_KEY_BYTES))], [{ code: "ephemeral_key", message }]);
}

/** The secrets in PARLEY_KEYS, newest first, unchecked; none when it is not set. */
export function keysIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return (env[VARIABLE] ?? "").split(/[\s,]+/).filter((text) => text !== "");
}

/** A fresh secret as base64url text, and its id. */
export function generateKey(random: RandomBytes): { key: string; id: string } {
  const secret = random(MIN_KEY_BYTES);
  return { key: secret.toString("base64url"), id: keyId(secret) };
}

function readSecrets(given: readonly (string | Uint8Array)[], source: string): Buffer[] {
  const seen = new Map<string, number>();
  return given.map((entry, index) => {
    const refuse = (rule: string) => new ParleyError("configuration", `Key ${index + 1} of ${source} ${rule}`);
    const secret = decodeSecret(entry);
    if (secret === null) throw refuse("is neither bytes nor base64url, base64 or hex text.");
    if (secret.length < MIN_KEY_BYTES) {
      throw refuse(`has ${secret.length} bytes; at least ${MIN_KEY_BYTES} are needed. Run "parley keygen".`);
    }
    if (secret.every((byte) => byte === secret[0])) {
      throw refuse('repeats one byte and protects nothing. Run "parley keygen".');
    }
    const id = keyId(secret);
    const earlier = seen.get(id);
    if (earlier !== undefined) throw refuse(`has the same id as key ${earlier}: give each key once.`);
    seen.set(id, index + 1);
    return secret;
  });
}

/**
 * A copy of the secret's bytes, or null. Text of hex digits alone also reads as base64url, and as more bytes than it
 * has: it is always taken for hex, or a short key would pass for a long one.
 */
function decodeSecret(entry: unknown): Buffer | null {
  if (entry instanceof Uint8Array) return Buffer.from(entry);
  if (typeof entry !== "string") return null;
  const text = entry.trim();
  if (/^[0-9a-f]+$/i.test(text)) return text.length % 2 === 0 ? Buffer.from(text, "hex") : null;
  if (!/^(?:[\w-]+|[A-Za-z0-9+/]+)={0,2}$/.test(text)) return null;
  const digits = text.replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
  const secret = Buffer.from(digits, "base64url");
  return secret.toString("base64url") === digits ? secret : null;
}

/** Public name of a secret: a hash under a label of its own, so that it says nothing about any derived key. */
function keyId(secret: Buffer): string {
  const hash = createHash("sha256").update("mcp-parley/key-id/v1\0").update(secret).digest("base64url");
  return hash.slice(0, KEY_ID_LENGTH);
}
