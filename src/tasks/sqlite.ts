/**
 * Tasks in a SQLite file: the embedded default. Several processes of one machine may share the file, with a ledger's tables
 * beside these; each runs what is ready, and takes over from one that died.
 */
import { checkNames } from "../internal/options.ts";
import { Deadlines } from "../store/deadlines.ts";
import { stopIfLate } from "../store/operations.ts";
import { isPlace, resolveTimeout, type StoreOptions } from "../store/options.ts";
import { openPrivateSqlite, patiently, startSqlite } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";
import type { ClaimedTask, TaskAnswer, TaskClaimRequest, TaskHold, TaskPhase, TaskStore } from "./contract.ts";
import { taskOperations } from "./guard.ts";
import { prepareTasks, SCHEMA } from "./sqlite-schema.ts";

export type { StoreOptions } from "../store/options.ts";
export type { SqliteDatabase, SqliteStatement } from "../store/sqlite-database.ts";
export type * from "./contract.ts";

export interface SqliteTasksOptions extends StoreOptions {
  /** Clock, in ms; processes that share the file share it. Default `Date.now`. */
  readonly now?: () => number;
}

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly head: Buffer;
  readonly body: Buffer;
  readonly note: Buffer | null;
  readonly phase: TaskPhase;
  readonly holder: string | null;
  readonly leaseUntil: number;
  readonly attempt: number;
  readonly cancelled: number;
  readonly endsAt: number;
}

const NAMES: Record<keyof SqliteTasksOptions, true> = { timeoutMs: true, now: true };
const SOURCE = { where: "path", method: "prepare", client: "a better-sqlite3 database" };

/** Rows whose time is over that one new task makes room for. */
const SWEEP_ROWS = 16;

/**
 * @param source A better-sqlite3 database, whose settings stay its owner's; or the path of a file to open in WAL mode
 *   for this user alone (`better-sqlite3` must be installed), which `close` closes.
 * @throws ParleyError `configuration`: an argument is wrong, the package is missing, the file cannot be opened, or its schema is newer
 */
export function sqliteTasks(
  source: SqliteDatabase | { readonly path: string },
  options: SqliteTasksOptions = {},
): TaskStore {
  checkNames("sqliteTasks", options, NAMES);
  const timeoutMs = resolveTimeout("sqliteTasks", options.timeoutMs);
  const clock = options.now ?? Date.now;
  const own = isPlace<{ readonly path: string }>("sqliteTasks", source, SOURCE);
  const database = own ? openPrivateSqlite(source.path, "sqliteTasks", timeoutMs) : source;
  const { sql, transact } = startSqlite(database, own, SCHEMA, prepareTasks);
  const operations = taskOperations("sqlite", new Deadlines(timeoutMs));

  function transaction<T>(operation: string, work: (now: number) => T): Promise<T> {
    return operations.run(operation, (late) =>
      patiently(
        () => transact(() => work(clock())),
        () => stopIfLate(late),
      ),
    );
  }

  const find = (id: string, now: number) => sql.row.get({ id, now }) as Row | undefined;
  const answersOf = (id: string) => sql.answers.all({ id }) as TaskAnswer[];
  const isHeld = ({ holder, leaseUntil }: Row, now: number) => holder !== null && leaseUntil > now;

  function held({ id, holder }: TaskHold, now: number): Row | undefined {
    const row = find(id, now);
    return row?.holder === holder ? row : undefined;
  }

  function end(id: string, body: Uint8Array): void {
    sql.end.run({ id, body });
    sql.dropSteps.run({ id });
    sql.dropAnswers.run({ id });
  }

  function sweep(now: number): void {
    for (const id of sql.expired.all({ now, count: SWEEP_ROWS }) as string[]) {
      sql.drop.run({ id });
      sql.dropSteps.run({ id });
      sql.dropAnswers.run({ id });
    }
  }

  function claim({ holder, kinds, leaseMs, perOwner }: TaskClaimRequest, now: number): ClaimedTask | undefined {
    const id = sql.next.get({ now, perOwner, kinds: JSON.stringify(kinds) }) as string | undefined;
    if (id === undefined) return undefined;
    sql.take.run({ id, holder, leaseUntil: now + leaseMs });
    const row = find(id, now) as Row;
    return {
      id,
      kind: row.kind,
      head: row.head,
      body: row.body,
      steps: sql.steps.all({ id }) as Buffer[],
      answers: answersOf(id),
      attempt: row.attempt,
      cancelled: row.cancelled === 1,
      lifeLeftMs: row.endsAt - now,
    };
  }

  return {
    create: ({ id, kind, owner, head, body, lifeMs, keepMs, maxOpen }) =>
      transaction("create", (now) => {
        sweep(now);
        if (find(id, now) !== undefined) return "exists";
        if ((sql.open.get({ owner, now }) as number) >= maxOpen) return "full";
        const endsAt = now + lifeMs;
        sql.create.run({ id, kind, owner, head, body, now, endsAt, dropAt: endsAt + keepMs });
        return "created";
      }),
    read: (id) =>
      transaction("read", (now) => {
        const row = find(id, now);
        if (row === undefined) return undefined;
        const { owner, head, body, note, phase, cancelled, endsAt } = row;
        const lifeLeftMs = endsAt - now;
        return {
          owner,
          head,
          body,
          note: note ?? undefined,
          phase,
          cancelled: cancelled === 1,
          answers: answersOf(id),
          lifeLeftMs,
        };
      }),
    answer: (id, answers) =>
      transaction("answer", (now) => {
        const row = find(id, now);
        if (row === undefined || row.phase === "ended") return;
        for (const { key, answer } of answers) sql.addAnswer.run({ id, key, answer });
        sql.wake.run({ id, now });
      }),
    cancel: (id, body) =>
      transaction("cancel", (now) => {
        const row = find(id, now);
        if (row === undefined || row.phase === "ended") return "nothing";
        if (isHeld(row, now)) {
          sql.ask.run({ id });
          return "asked";
        }
        end(id, body);
        return "ended";
      }),
    claim: (request) => transaction("claim", (now) => claim(request, now)),
    record: (hold, entry, leaseMs) =>
      transaction("record", (now) => {
        if (held(hold, now) === undefined) return false;
        sql.addStep.run({ id: hold.id, entry });
        sql.renew.run({ id: hold.id, leaseUntil: now + leaseMs, note: null });
        return true;
      }),
    renew: (hold, leaseMs, note) =>
      transaction("renew", (now) => {
        const row = held(hold, now);
        if (row === undefined) return "lost";
        sql.renew.run({ id: hold.id, leaseUntil: now + leaseMs, note: note ?? null });
        return row.cancelled === 1 ? "cancelled" : "held";
      }),
    settle: (hold, { body, phase, wakeMs = 0, open }) =>
      transaction("settle", (now) => {
        const row = held(hold, now);
        if (row === undefined) return false;
        const { id } = hold;
        if (phase === "ended") {
          end(id, body);
          return true;
        }
        const answered = answersOf(id).map(({ key }) => key);
        for (const key of answered) if (!open.includes(key)) sql.dropAnswer.run({ id, key });
        const urgent = answered.some((key) => open.includes(key)) || row.cancelled === 1;
        const next = urgent ? "ready" : phase;
        sql.settle.run({ id, body, phase: next, wakeAt: now + (urgent ? 0 : wakeMs) });
        sql.dropSteps.run({ id });
        return true;
      }),
    release: (hold, wakeMs) =>
      transaction("release", (now) => {
        if (held(hold, now) === undefined) return;
        sql.release.run({ id: hold.id });
        if (wakeMs !== undefined) sql.uncount.run({ id: hold.id, wakeAt: now + wakeMs });
      }),
    close: () =>
      operations.close(async () => {
        if (own) database.close();
      }),
  };
}
