/** What an error means to the person whose call it ended. */
import { ProtocolError } from "@modelcontextprotocol/client";
import { messageOf, ParleyError, rootOf } from "../errors.ts";

/** Why, for a person. The words may be a server's: they are escaped where they are shown. */
export function reasonText(server: string, error: unknown): string {
  // No connection was made: whoever reports that says so in words for a request that got lost.
  if (error instanceof ParleyError && !neverSent(error)) return error.message;
  const name = JSON.stringify(server);
  if (error instanceof ProtocolError) return `${name} answered with error ${error.code}: ${error.message}`;
  return `${name} cannot be reached: ${messageOf(rootOf(error))}`;
}

/** Why a task ended without a result (H15). */
export function taskFailureText(server: string, error: unknown): string {
  if (!(error instanceof ProtocolError)) return reasonText(server, error);
  return `The task failed at ${JSON.stringify(server)}: ${error.message} (error ${error.code})`;
}

/** Why the answer of a server is of no use here, for a person: it is nested too deep to be written down, say. */
export function unkeptText(server: string, error: unknown): string {
  if (error instanceof ParleyError) return error.message;
  return `What ${JSON.stringify(server)} answered cannot be kept: ${messageOf(error)}`;
}

/** The request was refused at the door: it has not reached the server, and may be sent again without a thought. */
export function neverSent(error: unknown): boolean {
  const { code } = rootOf(error) as { code?: unknown };
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}

/** The call itself has no fault: the network had, or the server was too slow. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ProtocolError) return false;
  return !(error instanceof ParleyError) || error.code === "leg_timeout" || error.code === "connection_lost";
}

/** The task failed, or was cancelled, at the server (H15): there is nothing left to cancel. */
export function isEndOfTask(error: unknown): boolean {
  return error instanceof ProtocolError || (error instanceof ParleyError && error.code === "task_cancelled");
}
