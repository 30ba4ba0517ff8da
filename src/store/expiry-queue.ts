/** A binary heap of calls by the time to look at them again: the next one due comes first. */
export interface ExpiryQueue {
  add(call: string, at: number): void;
  /** Takes out the earliest call if it is due at `now`. */
  takeDue(now: number): string | undefined;
}

interface Item {
  readonly call: string;
  readonly at: number;
}

export function createExpiryQueue(): ExpiryQueue {
  const heap: Item[] = [];
  const at = (index: number): number => heap[index]?.at ?? Number.POSITIVE_INFINITY;

  function swap(a: number, b: number): void {
    const kept = heap[a] as Item;
    heap[a] = heap[b] as Item;
    heap[b] = kept;
  }

  return {
    add(call, due) {
      let index = heap.push({ call, at: due }) - 1;
      while (index > 0) {
        const parent = (index - 1) >> 1;
        if (at(parent) <= due) return;
        swap(index, parent);
        index = parent;
      }
    },
    takeDue(now) {
      const first = heap[0];
      if (first === undefined || first.at > now) return undefined;
      const last = heap.pop() as Item;
      if (heap.length === 0) return first.call;
      heap[0] = last;
      for (let index = 0; ; ) {
        const left = 2 * index + 1;
        const child = at(left + 1) < at(left) ? left + 1 : left;
        if (at(child) >= last.at) return first.call;
        swap(index, child);
        index = child;
      }
    },
  };
}
