/** Who is told that a task is ready: every process, at once, over a connection of its own. */

/** What is used of the connection that listens. */
export interface RedisSubscriber {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(): void;
  subscribe(channel: string): Promise<unknown>;
  on(event: string, listener: () => void): unknown;
}

/** Longest time for an alarm; a claim after it sets the next. */
const LONGEST_ALARM_MS = 60_000;

/**
 * A message only says that there is something: everybody who hears it claims, and one of them gets it. Whoever got a task
 * asks again, so that a message that was lost, or stood for several tasks, costs nothing; and a claim that found nothing
 * sets an alarm for when there will be something: a task that looks again later, or a lease that ends.
 */
export class RedisWatch {
  readonly #subscriber: RedisSubscriber;
  readonly #take: () => Promise<void>;
  readonly #slots: number;
  readonly #taking = new Set<Promise<void>>();
  #claiming = false;
  #again = false;
  #stopped = false;
  #alarm: NodeJS.Timeout | undefined;

  constructor(subscriber: RedisSubscriber, channel: string, take: () => Promise<void>, slots: number) {
    this.#subscriber = subscriber;
    this.#take = take;
    this.#slots = slots;
    subscriber.on("error", () => {});
    subscriber.on("message", () => this.#told());
    const listen = () => {
      // What was said while nobody listened is found by looking.
      subscriber.subscribe(channel).then(
        () => this.#told(),
        () => undefined,
      );
    };
    subscriber.on("ready", listen);
    if (subscriber.status === "ready") listen();
    else if (subscriber.status === "wait") subscriber.connect().catch(() => {});
  }

  /** Tells what a claim of this process came to. @param inMs when there may be one, if it found none; -1: nobody knows */
  claimed(found: boolean, inMs: number): void {
    this.#claiming = false;
    if (found || this.#again) this.#told();
    if (found || inMs < 0) return;
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(() => this.#told(), Math.min(inMs, LONGEST_ALARM_MS));
    this.#alarm.unref();
  }

  /** Listens no more; ends when the last `take` has. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#alarm);
    this.#subscriber.disconnect();
    await Promise.all(this.#taking);
  }

  /** One claim at a time: what is said meanwhile is looked for after it. */
  #told(): void {
    if (this.#stopped) return;
    this.#again = this.#claiming || this.#taking.size >= this.#slots;
    if (this.#again) return;
    this.#claiming = true;
    const taking = this.#take()
      .catch(() => undefined)
      .then(() => {
        this.#taking.delete(taking);
        this.#claiming = false;
        if (this.#again) this.#told();
      });
    this.#taking.add(taking);
  }
}
