/** Pending calls in this process's memory: for tests, and for hosts that may forget them on restart. */
import { hasEnded, type PendingCall } from "./call.ts";
import { dueAt, type PendingPage, type PendingStore, type PendingStoreOptions } from "./contract.ts";
import { full, known, type Place, pageSize, readPlace, resolveStoreOptions, writePlace } from "./limits.ts";
import { rankOf, summaryOf } from "./summary.ts";

/** @throws ParleyError `configuration` for a bad option. */
export function memoryPending(options: PendingStoreOptions = {}): PendingStore {
  const { maxCalls, keepEndedMs, now } = resolveStoreOptions("memoryPending", options);
  const calls = new Map<string, PendingCall>();
  /** When each ended call ended, oldest first: such a call does not change any more. */
  const ended = new Map<string, number>();
  const mutedServers = new Set<string>();

  const copy = (call: PendingCall): PendingCall => structuredClone(call);
  const placeOf = (call: PendingCall): Place => ({ rank: rankOf(call), changedAt: call.changedAt, id: call.id });
  const sorted = () => [...calls.values()].sort((a, b) => compare(placeOf(a), placeOf(b)));
  const time = (): number => Math.floor(now());

  /** Drops ended calls whose time is over and, without room, the oldest one. */
  function makeRoom(): void {
    for (const [id, endedAt] of ended) {
      if (calls.size < maxCalls && endedAt + keepEndedMs > time()) return;
      ended.delete(id);
      calls.delete(id);
    }
  }

  return {
    async add(call) {
      if (calls.has(call.id)) throw known(call.id);
      makeRoom();
      if (calls.size >= maxCalls) throw full(maxCalls);
      calls.set(call.id, { ...copy(call), version: 1, changedAt: time() });
    },
    async get(id) {
      const call = calls.get(id);
      return call && copy(call);
    },
    async update(id, change) {
      const call = calls.get(id);
      if (call === undefined) return undefined;
      const { call: next, quiet, value } = change(copy(call));
      if (next !== undefined) {
        const { version, changedAt } = call;
        const stamp = quiet === true ? { version, changedAt } : { version: version + 1, changedAt: time() };
        calls.set(id, { ...copy(next), ...stamp });
        if (hasEnded(next)) ended.set(id, stamp.changedAt);
      }
      return value;
    },
    async list(limit, after): Promise<PendingPage> {
      const size = pageSize(limit);
      const place = after === undefined ? undefined : readPlace("memoryPending", after);
      const rest = sorted().filter((call) => place === undefined || compare(placeOf(call), place) > 0);
      const shown = rest.slice(0, size);
      const last = shown.at(-1);
      return {
        calls: shown.map(summaryOf),
        total: calls.size,
        waiting: [...calls.values()].filter(({ state }) => state === "waiting").length,
        ...(rest.length > size && last !== undefined && { next: writePlace(placeOf(last)) }),
      };
    },
    async due(servers, limit) {
      const at = (call: PendingCall) => dueAt(call) ?? Number.POSITIVE_INFINITY;
      return [...calls.values()]
        .filter((call) => servers.includes(call.server) && at(call) <= time())
        .sort((a, b) => at(a) - at(b))
        .slice(0, limit)
        .map(({ id }) => id);
    },
    async changes(since, limit) {
      return [...calls.values()]
        .filter(({ changedAt }) => changedAt >= since)
        .sort((a, b) => a.changedAt - b.changedAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
        .map(summaryOf);
    },
    async muted() {
      return [...mutedServers];
    },
    async mute(server, muted) {
      if (muted) mutedServers.add(server);
      else mutedServers.delete(server);
    },
    async close() {},
  };
}

/** Lists go by rank, then newest change, then id. */
function compare(a: Place, b: Place): number {
  return a.rank - b.rank || b.changedAt - a.changedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
