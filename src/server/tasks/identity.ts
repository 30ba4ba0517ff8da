/** Ids: unguessable, one for each call, and known to the store by their digests only (H13, C14). */
import { createHmac } from "node:crypto";
import { type KeyRing, type Principal, principalText } from "../../state/index.ts";
import { digestFor } from "../digest.ts";

const PURPOSE = "mcp-parley/tasks/v1";
const ID_BYTES = 24;

/**
 * Makes task ids from call ids under a key of the server's, so that a round that is served twice (a retry, a take-over, a
 * state that is presented again) meets the task it has begun instead of beginning another.
 */
export function createTaskIds(ring: KeyRing): (owner: string, callId: string) => readonly string[] {
  const keys = ring.derive(PURPOSE).map(({ key }) => key);
  return (owner, callId) =>
    keys.map((key) =>
      createHmac("sha256", key).update(`${owner}\0${callId}`).digest().toString("base64url", 0, ID_BYTES),
    );
}

/** What a store knows a task by. */
export function rowId(taskId: string): string {
  return digestFor("task", `id\0${taskId}`);
}

/** Whose a task is: nobody else's id leads to it, not even with the task's own id (C13). */
export function ownerOf(audience: string, principal: Principal | null): string {
  return digestFor("task", `owner\0${principalText(audience, principal)}`);
}

/** Who can run a task. */
export function kindOf(audience: string, tool: string): string {
  return digestFor("task", `kind\0${audience.length}:${audience}${tool}`);
}
