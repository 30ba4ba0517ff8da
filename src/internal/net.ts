/**
 * Whether a host is this computer: 127.0.0.0/8, `::1` with or without brackets, and the names RFC 6761 keeps for it.
 * Takes a host as the URL parser spells it, so numbers are already in dotted form.
 */
export function isLoopback(hostname: string): boolean {
  if (hostname === "[::1]" || hostname === "::1") return true;
  return /^(.+\.)?localhost$/.test(hostname) || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** A host as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
