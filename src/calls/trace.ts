const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Whether it is of the W3C trace context format (I14). */
export function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && TRACEPARENT.test(value);
}

/** The same trace with a span id of its own: each leg is a span (I15). */
export function nextSpan(traceparent: string, random: () => number): string {
  const [version, traceId, , flags] = traceparent.split("-");
  return `${version}-${traceId}-${randomHex(8, random)}-${flags}`;
}

/** `bytes` random bytes as hex, never all zero. Not for secrets. */
export function randomHex(bytes: number, random: () => number): string {
  const hex = Array.from({ length: bytes }, () =>
    Math.floor(random() * 256)
      .toString(16)
      .padStart(2, "0"),
  ).join("");
  return /^0+$/.test(hex) ? `${hex.slice(1)}1` : hex;
}
