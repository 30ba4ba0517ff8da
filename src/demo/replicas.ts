/** The demo's replicas, seen from the parent. */
import { type ChildProcess, fork } from "node:child_process";
import type { ParleyEvent } from "../server/events.ts";

export type ReplicaMessage =
  | { readonly type: "ready"; readonly url: string }
  /** A step that really ran. */
  | { readonly type: "ran"; readonly step: string }
  /** What an operator sees. */
  | { readonly type: "event"; readonly event: ParleyEvent };

/** One request as its replica reports it. */
export interface Report {
  readonly replica: string;
  /** Steps that ran for it, in order. */
  readonly ran: readonly string[];
  readonly event: Extract<ParleyEvent, { type: "round" | "state_refused" }>;
}

export interface ReplicaOptions {
  readonly name: string;
  readonly key: string;
  /** JSON: token -> caller. */
  readonly callers: string;
  readonly roundTtlMs?: number;
}

const PATIENCE_MS = 10_000;

/** A child process, ready to serve. */
export class Replica {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #onReport: (report: Report) => void;
  #url = "";
  #ran: string[] = [];

  constructor(options: ReplicaOptions, onReport: (report: Report) => void) {
    const { name, key, callers, roundTtlMs } = options;
    this.name = name;
    this.#onReport = onReport;
    const env = {
      ...process.env,
      PARLEY_KEYS: key,
      DEMO_CALLERS: callers,
      ...(roundTtlMs !== undefined && { DEMO_ROUND_TTL_MS: String(roundTtlMs) }),
    };
    this.#child = fork(new URL("./replica.js", import.meta.url), { env, execArgv: [] });
  }

  get url(): string {
    return this.#url;
  }
  get pid(): number | undefined {
    return this.#child.pid;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#child.once("exit", (code) => reject(new Error(`replica ${this.name} ended with code ${code} at start`)));
      this.#child.once("error", reject);
      this.#child.on("message", (message: ReplicaMessage) => {
        if (message.type === "ready") {
          this.#url = message.url;
          resolve();
        } else this.#take(message);
      });
    });
    return this;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    if (this.#child.connected) this.#child.disconnect();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS / 2);
    await gone;
    clearTimeout(late);
  }

  #take(message: Exclude<ReplicaMessage, { type: "ready" }>): void {
    if (message.type === "ran") {
      this.#ran.push(message.step);
      return;
    }
    const { event } = message;
    if (event.type !== "round" && event.type !== "state_refused") return;
    this.#onReport({ replica: this.name, ran: this.#ran, event });
    this.#ran = [];
  }
}

/** Reports of all replicas, in the order they came. */
export class Reports {
  readonly #kept: Report[] = [];
  #wake = () => {};

  readonly add = (report: Report): void => {
    this.#kept.push(report);
    this.#wake();
  };

  /** The next report that nobody took yet. */
  async next(): Promise<Report> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const report = this.#kept.shift();
      if (report !== undefined) return report;
      if (Date.now() > deadline) throw new Error("no replica reported the request");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 100);
      });
    }
  }
}
