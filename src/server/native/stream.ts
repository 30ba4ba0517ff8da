/** Answers as a stream of events (G29). */

/** As raw pairs. No proxy may hold events back. */
export const STREAM_HEADERS: readonly string[] = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-cache, no-transform",
  "x-accel-buffering",
  "no",
];

export const KEEP_ALIVE = ": keepalive\n\n";

export function eventText(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}

/** Clients must accept both forms (G18); one that says otherwise gets the answer alone. */
export function acceptsStream(accept: string | undefined): boolean {
  return accept === undefined || /text\/(event-stream|\*)|\*\/\*/i.test(accept);
}
