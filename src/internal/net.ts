/** Whether only this machine can reach `host`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** A host as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
