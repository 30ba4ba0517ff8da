/**
 * A server's URL, judged before a person sees it (requirements E13 to E20; presentation rules L1 to L5, L7).
 *
 * Everything is read from the parsed URL, as a browser will read it. Nothing is fetched, resolved or looked up: the
 * list of public suffixes is part of the package.
 */
import { domainToUnicode } from "node:url";
import { getDomain } from "tldts";
import { isLoopback } from "../internal/net.ts";
import { nameWarnings } from "./names.ts";
import { host, inline, type Safe, say, visible } from "./text.ts";

/** Longer addresses are refused: nobody reads them, and length is how a host is pushed off the screen. */
export const MAX_URL_LENGTH = 2048;

/** A URL a person may be asked about, or why not. */
export type UrlView = AcceptableUrl | RefusedUrl;

export interface AcceptableUrl {
  readonly ok: true;
  /** What is opened, exactly: the parser's own serialisation, ASCII only. */
  readonly href: string;
  /** The whole of `href` in four pieces; `domain` is the one to emphasise. */
  readonly pieces: { readonly before: Safe; readonly subdomain: Safe; readonly domain: Safe; readonly after: Safe };
  /** The host as it goes on the wire (punycode). */
  readonly host: Safe;
  /** The part somebody registered, private suffixes included (`a.github.io`); the whole host when there is none. */
  readonly registrableDomain: Safe;
  /** The host in the letters punycode stands for, when it has any. */
  readonly unicodeHost?: Safe;
  readonly warnings: readonly Safe[];
}

export interface RefusedUrl {
  readonly ok: false;
  readonly reason: Safe;
  /** The server's text, escaped. */
  readonly shown: Safe;
}

/** Judges `raw`. Only `https:`, and `http:` on this computer, are acceptable; never throws. */
export function inspectUrl(raw: unknown): UrlView {
  if (typeof raw !== "string") return refuse("", host("it is not text"));
  if (raw.length > MAX_URL_LENGTH) {
    return refuse(raw, say`it is ${raw.length} characters long; at most ${MAX_URL_LENGTH} are accepted`);
  }
  if (!URL.canParse(raw)) return refuse(raw, host("it is not a complete web address"));
  const url = new URL(raw);
  const loopback = isLoopback(url.hostname);
  if (url.protocol === "http:" && !loopback) {
    return refuse(raw, host("it is not encrypted (http); only https is accepted outside this computer"));
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return refuse(raw, say`it is a ${inline(url.protocol, 40)} address; only https is accepted`);
  }
  const unicode = unicodeHost(url.hostname);
  return {
    ok: true,
    href: url.href,
    pieces: piecesOf(url),
    host: inline(url.host, MAX_URL_LENGTH),
    registrableDomain: inline(registrable(url.hostname), MAX_URL_LENGTH),
    ...(unicode === undefined ? {} : { unicodeHost: inline(unicode, MAX_URL_LENGTH) }),
    warnings: warningsFor(raw, url, unicode, loopback),
  };
}

function refuse(raw: string, reason: Safe): RefusedUrl {
  return { ok: false, reason, shown: visible(raw, { maxLength: 300, inertLinks: true }).text };
}

function warningsFor(raw: string, url: URL, unicode: string | undefined, loopback: boolean): Safe[] {
  const warnings: Safe[] = [];
  const domain = inline(registrable(url.hostname), MAX_URL_LENGTH);
  if (url.username !== "" || url.password !== "") {
    warnings.push(say`has a user name in front of “@”; the site is ${domain}, whatever stands before it`);
  }
  if (unicode !== undefined) {
    warnings.push(say`spells its site “${inline(url.hostname)}”, which reads “${inline(unicode)}”`);
    for (const warning of nameWarnings(unicode)) warnings.push(say`has a site name that ${warning}`);
  }
  const written = writtenHost(raw);
  if (written !== undefined && written.toLowerCase() !== url.hostname && written !== unicode) {
    warnings.push(say`gives its site as “${inline(written)}”, which means ${inline(url.hostname)}`);
  }
  if (url.hostname.endsWith(".")) warnings.push(host("has a site name that ends in a dot"));
  if (isAddress(url.hostname)) warnings.push(host("leads to a bare number address, not to a name"));
  else if (!loopback && !url.hostname.replace(/\.$/, "").includes(".")) {
    warnings.push(host("leads to a machine of some local network (its name has no dot)"));
  }
  if (url.port !== "") warnings.push(say`uses the unusual port ${Number(url.port)}`);
  if (loopback) warnings.push(host("leads to a program on this computer"));
  if (raw !== url.href && `${raw}/` !== url.href && written?.toLowerCase() === url.hostname) {
    warnings.push(host("was written differently by the server; this is how a browser reads it"));
  }
  return warnings;
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+\.?$/.test(hostname);
}

function registrable(hostname: string): string {
  return getDomain(hostname, { allowPrivateDomains: true }) ?? hostname;
}

function unicodeHost(hostname: string): string | undefined {
  if (!/(^|\.)xn--/.test(hostname)) return undefined;
  return domainToUnicode(hostname) || hostname;
}

/** The host as the server spelled it, found without trusting any of its tricks; undefined when there is no telling. */
function writtenHost(raw: string): string | undefined {
  const authority = /^[a-z]+:[\\/]*([^\\/?#]*)/iu.exec(raw.trim())?.[1];
  if (authority === undefined) return undefined;
  return authority.slice(authority.lastIndexOf("@") + 1).replace(/:\d*$/, "");
}

function piecesOf(url: URL): AcceptableUrl["pieces"] {
  const { href, hostname } = url;
  const user = url.password === "" ? url.username : `${url.username}:${url.password}`;
  const start = `${url.protocol}//`.length + (user === "" ? 0 : user.length + 1);
  const domain = registrable(hostname);
  // A suffix by the parser's own spelling; a trailing dot is not part of a registrable domain.
  const end = hostname.lastIndexOf(domain) + domain.length;
  const from = start + end - domain.length;
  return {
    before: inline(href.slice(0, start), MAX_URL_LENGTH * 3),
    subdomain: inline(href.slice(start, from), MAX_URL_LENGTH * 3),
    domain: inline(href.slice(from, start + end), MAX_URL_LENGTH * 3),
    after: inline(href.slice(start + end), MAX_URL_LENGTH * 9),
  };
}
