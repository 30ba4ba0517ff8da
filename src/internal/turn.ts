/** What is used of a `ServerResponse`. */
interface Response {
  readonly socket: unknown;
  once(event: "socket", listener: () => void): unknown;
}

/**
 * Runs `serve` when the response's turn has come. A request may be sent behind another on the same connection; Node hands
 * it over at once, but its response learns nothing of the connection's end before its turn, so that nothing would cancel
 * it or clean up after it.
 */
export function inItsTurn(res: Response, serve: () => void): void {
  if (res.socket === null) res.once("socket", serve);
  else serve();
}
