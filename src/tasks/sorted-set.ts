/** Members in the order of a number, the lowest first, and equal ones as they came: what Redis calls a sorted set. */
export class SortedSet {
  readonly #order: Item[] = [];
  readonly #items = new Map<string, Item>();
  #puts = 0;

  get size(): number {
    return this.#order.length;
  }

  has(member: string): boolean {
    return this.#items.has(member);
  }

  first(): Item | undefined {
    return this.#order[0];
  }

  /** Puts it in, or moves it. */
  put(member: string, at: number): void {
    this.delete(member);
    const item = { member, at, put: this.#puts++ };
    this.#items.set(member, item);
    this.#order.splice(this.#placeAfter(at, item.put), 0, item);
  }

  delete(member: string): boolean {
    const item = this.#items.get(member);
    if (item === undefined) return false;
    this.#items.delete(member);
    this.#order.splice(this.#placeAfter(item.at, item.put) - 1, 1);
    return true;
  }

  /** Takes out the first member if its number is `at` or less. */
  takeDue(at: number): string | undefined {
    const first = this.#order[0];
    if (first === undefined || first.at > at) return undefined;
    this.delete(first.member);
    return first.member;
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.#order[Symbol.iterator]();
  }

  /** How many stand at that number and that put, or before. */
  #placeAfter(at: number, put: number): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const item = this.#order[middle] as Item;
      if (item.at < at || (item.at === at && item.put <= put)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface Item {
  readonly member: string;
  readonly at: number;
  readonly put: number;
}

/** Sorted sets by name; there are only those that have a member. */
export class SortedSets {
  readonly #sets = new Map<string, SortedSet>();

  get(name: string): SortedSet | undefined {
    return this.#sets.get(name);
  }

  put(name: string, member: string, at: number): void {
    const set = this.#sets.get(name) ?? new SortedSet();
    this.#sets.set(name, set);
    set.put(member, at);
  }

  delete(name: string, member: string): boolean {
    const set = this.#sets.get(name);
    if (set?.delete(member) !== true) return false;
    if (set.size === 0) this.#sets.delete(name);
    return true;
  }
}
