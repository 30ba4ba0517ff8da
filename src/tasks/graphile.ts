/**
 * Who is told that a task is ready: any process, within milliseconds, through graphile-worker.
 *
 * Why that one: its jobs are added by SQL, in the very transaction that makes a task ready, and are announced with NOTIFY;
 * pg-boss polls. The rows of the store decide all the same: a job that is lost costs a process's next look, and nothing else.
 */
import { loadPeer } from "../store/peer.ts";
import type { TasksPool } from "./postgres-client.ts";

/** What is used of graphile-worker. */
interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => unknown;
  runMigrations(options: object): Promise<void>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

const TASK = "parley_task";

export class GraphileQueue {
  readonly #worker: GraphileWorker;
  readonly #options: { readonly pgPool: TasksPool; readonly schema: string; readonly logger: unknown };
  readonly #schema: string;

  /** @throws ParleyError `configuration` when graphile-worker is not installed */
  constructor(pool: TasksPool, schema: string) {
    this.#worker = loadPeer("graphile-worker", 'postgresTasks with queue "graphile-worker"') as GraphileWorker;
    // Its log would tell of every job; what matters of a run is on Parley's own event hook.
    const logger = new this.#worker.Logger(() => () => {});
    this.#options = { pgPool: pool, schema, logger };
    this.#schema = `"${schema}"`;
  }

  migrate(): Promise<void> {
    return this.#worker.runMigrations(this.#options);
  }

  /** SQL that adds a task's job: one for each task, however often it becomes ready before it is taken. */
  add(id: string, wakeAt: string): string {
    return `${this.#schema}.add_job('${TASK}', job_key => ${id}, run_at => ${wakeAt}, max_attempts => 1)`;
  }

  /** Calls `take` for every job, `slots` at the same time at most. */
  watch(take: () => Promise<void>, slots: number): () => Promise<void> {
    const started = this.#worker.run({
      ...this.#options,
      concurrency: slots,
      noHandleSignals: true,
      pollInterval: 2_000,
      taskList: { [TASK]: take },
    });
    started.catch(() => undefined);
    return async () => {
      const runner = await started.catch(() => undefined);
      await runner?.stop();
    };
  }
}
