/** The simulated world's only scheduler and clock: one event at a time, and all its microtasks before the next. */
import type { Rng } from "./rng.ts";

/** Something that can stop: its events are dropped for good once it is dead, and late while it is paused. */
export class Process {
  readonly name: string;
  alive = true;
  pausedUntil = 0;

  constructor(name: string) {
    this.name = name;
  }
}

interface Event {
  readonly at: number;
  /** Decides between events of the same time. */
  readonly tie: number;
  readonly process: Process | undefined;
  readonly run: () => void;
}

export class Kernel {
  readonly #rng: Rng;
  readonly #heap: Event[] = [];
  readonly #urgent: Event[] = [];
  /** Virtual time, in whole ms. */
  now = 0;
  steps = 0;
  /** Whose event runs now. */
  process: Process | undefined;

  constructor(rng: Rng) {
    this.#rng = rng;
  }

  /** Runs `run` after `delayMs`, in a random order among what comes at the same time. */
  after(delayMs: number, process: Process | undefined, run: () => void): void {
    push(this.#heap, { at: this.now + delayMs, tie: this.#rng.next(), process, run });
  }

  /** Runs `run` before anything else, once the microtasks that are queued now have run. */
  soon(process: Process, run: () => void): void {
    this.#urgent.push({ at: this.now, tie: 0, process, run });
  }

  sleep(delayMs: number, process?: Process): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, process, resolve));
  }

  /** Calls back every `ms` until the returned function is called. */
  every(ms: number, process: Process, callback: () => void): () => void {
    let going = true;
    const again = () =>
      this.after(Math.ceil(ms), process, () => {
        if (!going) return;
        callback();
        again();
      });
    again();
    return () => {
      going = false;
    };
  }

  /** Runs until `over`, until nothing is left to do, or until virtual time `untilMs`. */
  async run(over: () => boolean, untilMs: number): Promise<void> {
    await drained();
    while (!over()) {
      const event = this.#urgent.shift() ?? pop(this.#heap);
      if (event === undefined || event.at > untilMs) return;
      const { process, run } = event;
      if (process !== undefined) {
        if (!process.alive) continue;
        if (process.pausedUntil > event.at) {
          push(this.#heap, { ...event, at: process.pausedUntil });
          continue;
        }
      }
      this.now = event.at;
      this.steps++;
      this.process = process;
      run();
      await drained();
    }
  }
}

/** A next tick that a microtask asks for comes when the microtask queue is empty; nothing else here asks for ticks. */
function drained(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie);
}

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (before(heap[parent] as Event, event)) break;
    heap[index] = heap[parent] as Event;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child++;
    if (before(last, heap[child] as Event)) break;
    heap[index] = heap[child] as Event;
    index = child;
  }
  heap[index] = last;
  return first;
}
