/** Finds tasks without looking at all: by kind and owner those that are ready, and by owner those that run or are open. */
import { SortedSet, SortedSets } from "./sorted-set.ts";

/** What the index knows of a task. */
export interface IndexedTask {
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly endsAt: number;
  /** When it is ready to run. */
  readonly wakeAt: number;
}

/** The same sets as in Redis (`redis-scripts.ts`). */
export class TaskIndex {
  readonly #open = new SortedSets();
  readonly #ends = new SortedSet();
  readonly #ready = new SortedSets();
  readonly #owners = new SortedSets();
  readonly #held = new SortedSet();
  readonly #heldOf = new SortedSets();

  /** A task that has begun, and is ready. */
  add(task: IndexedTask): void {
    this.#open.put(task.owner, task.id, task.endsAt);
    this.#ends.put(task.id, task.endsAt);
    this.queue(task);
  }

  /** A task that has ended. */
  remove(task: IndexedTask): void {
    this.#open.delete(task.owner, task.id);
    this.#ends.delete(task.id);
    this.withdraw(task);
  }

  /** Nobody runs it, and it is ready at its `wakeAt`. One whose life is over waits for nobody. */
  queue(task: IndexedTask): void {
    if (!this.#ends.has(task.id)) return;
    this.#ready.put(queueOf(task), task.id, task.wakeAt);
    this.#rank(task);
  }

  /** Somebody runs it until then. */
  hold(task: IndexedTask, leaseUntil: number): void {
    this.#unqueue(task);
    this.#held.put(task.id, leaseUntil);
    this.#heldOf.put(task.owner, task.id, leaseUntil);
  }

  /** Neither runs nor is ready. */
  withdraw(task: IndexedTask): void {
    this.#unqueue(task);
    this.#held.delete(task.id);
    this.#heldOf.delete(task.owner, task.id);
  }

  /** Puts back what nobody runs any more, and leaves out what is over. Each task costs this once. */
  pass(now: number, find: (id: string) => IndexedTask | undefined): void {
    for (let id = this.#ends.takeDue(now); id !== undefined; id = this.#ends.takeDue(now)) {
      const task = find(id);
      if (task === undefined) continue;
      this.#open.delete(task.owner, id);
      this.#unqueue(task);
    }
    for (let id = this.#held.takeDue(now); id !== undefined; id = this.#held.takeDue(now)) {
      const task = find(id);
      if (task === undefined) continue;
      this.#heldOf.delete(task.owner, id);
      this.queue(task);
    }
  }

  openOf(owner: string): number {
    return this.#open.get(owner)?.size ?? 0;
  }

  /** The task that has been ready longest, of an owner of whom fewer than `perOwner` run. */
  next(kinds: readonly string[], perOwner: number, now: number): string | undefined {
    let best: { readonly at: number; readonly queue: string } | undefined;
    for (const kind of kinds) {
      for (const { member: owner, at } of this.#owners.get(kind) ?? []) {
        if (at > now || (best !== undefined && at >= best.at)) break;
        if ((this.#heldOf.get(owner)?.size ?? 0) >= perOwner) continue;
        best = { at, queue: queueOf({ kind, owner }) };
        break;
      }
    }
    return best && this.#ready.get(best.queue)?.first()?.member;
  }

  #unqueue(task: IndexedTask): void {
    if (this.#ready.delete(queueOf(task), task.id)) this.#rank(task);
  }

  /** An owner's place among the owners of a kind is that of the first task. */
  #rank({ kind, owner }: IndexedTask): void {
    const first = this.#ready.get(queueOf({ kind, owner }))?.first();
    if (first === undefined) this.#owners.delete(kind, owner);
    else this.#owners.put(kind, owner, first.at);
  }
}

const queueOf = ({ kind, owner }: { readonly kind: string; readonly owner: string }) => `${kind}\0${owner}`;
