/**
 * Pending calls in a SQLite file: they outlast the process, and several processes on one machine may share them.
 *
 * The file holds servers' states and people's answers. One that is opened by path is readable by its owner alone, and
 * with `keys` what it holds of a call is sealed; who asks, for what and when stays readable, for lists.
 */
import { ParleyError } from "../errors.ts";
import { type Box, createBox, createKeyRing, pooledRandom } from "../state/index.ts";
import { openPrivateSqlite, patiently, startSqlite } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";
import type { PendingCall } from "./call.ts";
import { dueAt, type PendingStore, type PendingStoreOptions, type PendingSummary } from "./contract.ts";
import { full, known, pageSize, readPlace, resolveStoreOptions, writePlace } from "./limits.ts";
import { prepare, SCHEMA } from "./sqlite-schema.ts";
import { rankOf, summaryOf } from "./summary.ts";

export type { SqliteDatabase, SqliteStatement } from "../store/sqlite-database.ts";
export type { PendingCall, PendingDecision, PendingEvent, PendingQuestion, PendingState } from "./call.ts";
export type { Change, PendingPage, PendingStore, PendingStoreOptions, PendingSummary } from "./contract.ts";

export interface SqlitePendingOptions extends PendingStoreOptions {
  /** Secrets that seal what is stored, newest first, as for servers (`PARLEY_KEYS`). Default none: stored as it is. */
  readonly keys?: readonly (string | Uint8Array)[];
  /** Longest wait for another process's lock, in ms. Default 5000. */
  readonly timeoutMs?: number;
}

interface Row {
  readonly call: Buffer;
  readonly version: number;
  readonly changedAt: number;
}

type SummaryRow = Omit<PendingSummary, "answerBy" | "task" | "isError"> & {
  readonly answerBy: number | null;
  readonly task: string | null;
  readonly isError: number | null;
};

const PURPOSE = "mcp-parley/pending/v1";
/** Ended calls that one `add` forgets at most. More are forgotten than come. */
const FORGET_CALLS = 32;

/**
 * @param source A better-sqlite3 database, whose settings stay its owner's; or the path of a file to open
 *   (`better-sqlite3` must be installed), which `close` closes.
 * @throws ParleyError `configuration`: a bad option, the package is missing, the file cannot be opened, or its schema
 *   is newer. Operations reject with `store_unavailable` when the lock is not to be had, or a call does not open.
 */
export function sqlitePending(
  source: SqliteDatabase | { readonly path: string },
  options: SqlitePendingOptions = {},
): PendingStore {
  const { maxCalls, keepEndedMs, now } = resolveStoreOptions("sqlitePending", options);
  const { keys, timeoutMs = 5000 } = options;
  const box = keys && createBox(createKeyRing({ keys, random: pooledRandom() }), PURPOSE, pooledRandom());
  const own = "path" in source;
  const database = own ? openPrivateSqlite(source.path, "sqlitePending", timeoutMs) : source;
  const { sql, transact } = startSqlite(database, own, SCHEMA, prepare);

  async function transaction<T>(work: () => T): Promise<T> {
    const giveUpAt = Date.now() + timeoutMs;
    return patiently(
      () => transact(work),
      (busy) => {
        if (Date.now() >= giveUpAt) throw unavailable("another process holds its lock", busy);
      },
    );
  }

  function read(id: string): (Row & { readonly value: PendingCall }) | undefined {
    const row = sql.get.get(id) as Row | undefined;
    if (row === undefined) return undefined;
    const { version, changedAt } = row;
    return { ...row, value: { ...decode(box, id, row.call), version, changedAt } };
  }

  const write = (call: PendingCall) => ({
    ...summaryOf(call),
    answerBy: call.answerBy ?? null,
    task: call.task?.status ?? null,
    isError: call.result?.isError === true ? 1 : null,
    rank: rankOf(call),
    dueAt: dueAt(call) ?? null,
    call: encode(box, call),
  });
  const time = (): number => Math.floor(now());

  return {
    async add(call) {
      const row = { ...call, version: 1, changedAt: time() };
      await transaction(() => {
        if (sql.get.get(call.id) !== undefined) throw known(call.id);
        sql.forget.run({ before: row.changedAt - keepEndedMs, limit: FORGET_CALLS });
        const over = (sql.count.get() as number) - maxCalls + 1;
        if (over > 0) sql.forget.run({ before: row.changedAt, limit: over });
        if ((sql.count.get() as number) >= maxCalls) throw full(maxCalls);
        sql.add.run(write(row));
      });
    },
    async get(id) {
      return read(id)?.value;
    },
    update: (id, change) =>
      transaction(() => {
        const found = read(id);
        if (found === undefined) return undefined;
        const { call, quiet, value } = change(found.value);
        if (call !== undefined) {
          const { version, changedAt } = found;
          const stamp = quiet === true ? { version, changedAt } : { version: version + 1, changedAt: time() };
          sql.put.run(write({ ...call, ...stamp }));
        }
        return value;
      }),
    async list(limit, after) {
      const size = pageSize(limit);
      const place = after === undefined ? undefined : readPlace("sqlitePending", after);
      // One more than is shown tells whether there is more.
      const more = size + 1;
      const rows = (
        place === undefined ? sql.first.all({ size: more }) : sql.next.all({ ...place, size: more })
      ) as (SummaryRow & { readonly rank: number })[];
      const shown = rows.slice(0, size);
      const last = shown.at(-1);
      return {
        calls: shown.map(({ rank: _rank, ...summary }) => summaryIn(summary)),
        total: sql.count.get() as number,
        waiting: sql.waiting.get() as number,
        ...(rows.length > size && last !== undefined && { next: writePlace(last) }),
      };
    },
    async due(servers, limit) {
      return sql.due.all({ now: time(), servers: JSON.stringify(servers), limit }) as string[];
    },
    async changes(since, limit) {
      return (sql.changes.all({ since, limit }) as SummaryRow[]).map(summaryIn);
    },
    async muted() {
      return sql.muted.all() as string[];
    },
    async mute(server, muted) {
      await transaction(() => void (muted ? sql.mute : sql.unmute).run(server));
    },
    async close() {
      if (own) database.close();
    },
  };
}

function encode(box: Box | undefined, call: PendingCall): Buffer {
  const text = JSON.stringify(call);
  return box === undefined ? Buffer.from(text) : box.seal(text, call.id);
}

function decode(box: Box | undefined, id: string, bytes: Buffer): PendingCall {
  const text = box === undefined ? bytes.toString() : box.open(bytes, id);
  try {
    return JSON.parse(text ?? "") as PendingCall;
  } catch {
    // The parser's own message quotes what it read.
    throw unavailable("a call does not open: a key is missing, or the file was changed");
  }
}

function summaryIn({ answerBy, task, isError, ...summary }: SummaryRow): PendingSummary {
  return {
    ...summary,
    ...(answerBy !== null && { answerBy }),
    ...(task !== null && { task }),
    ...(isError === 1 && { isError: true }),
  };
}

function unavailable(why: string, cause?: unknown): ParleyError {
  return new ParleyError("store_unavailable", `sqlitePending: ${why}.`, { cause });
}
