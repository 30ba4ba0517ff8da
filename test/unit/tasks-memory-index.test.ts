/** How the memory task store finds tasks: in what order, and how few of them it looks at. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { SortedSet } from "../../src/tasks/sorted-set.ts";
import { newTask } from "../contract/tasks-suite.ts";

describe("a sorted set", () => {
  it("holds what was put last for each member, by number and then as it came", () => {
    const change = fc.record({
      member: fc.constantFrom("a", "b", "c", "d", "e"),
      at: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), fc.integer({ min: 0, max: 3 }), (changes, due) => {
        const set = new SortedSet();
        let model: { member: string; at: number }[] = [];
        for (const { member, at } of changes) {
          expect(at === undefined && set.delete(member)).toBe(
            at === undefined && model.some((item) => item.member === member),
          );
          model = model.filter((item) => item.member !== member);
          if (at === undefined) continue;
          set.put(member, at);
          model.push({ member, at });
        }
        model.sort((a, b) => a.at - b.at);
        expect([...set].map(({ member, at }) => ({ member, at }))).toEqual(model);
        expect([set.size, set.first()?.member]).toEqual([model.length, model[0]?.member]);
        const taken: (string | undefined)[] = [];
        for (let member = set.takeDue(due); member !== undefined; member = set.takeDue(due)) taken.push(member);
        expect(taken).toEqual(model.filter(({ at }) => at <= due).map(({ member }) => member));
      }),
    );
  });
});

describe("a claim among ten thousand tasks", () => {
  type Method = (this: unknown, ...args: unknown[]) => unknown;
  const patched: (() => void)[] = [];
  function patch(target: object, name: PropertyKey, make: (own: Method) => Method): void {
    const own = Reflect.get(target, name) as Method;
    Reflect.set(target, name, make(own));
    patched.push(() => Reflect.set(target, name, own));
  }

  /** How much `work` looks at: members of sorted sets one by one, and maps from end to end. */
  async function looksOf(work: () => Promise<unknown>): Promise<number> {
    let looks = 0;
    patch(
      SortedSet.prototype,
      Symbol.iterator,
      (own) =>
        function* (this: unknown) {
          for (const item of own.call(this) as Iterable<unknown>) {
            looks++;
            yield item;
          }
        },
    );
    for (const name of ["values", "entries", "keys", "forEach", Symbol.iterator])
      patch(
        Map.prototype,
        name,
        (own) =>
          function (this: unknown, ...args) {
            looks += (this as Map<unknown, unknown>).size;
            return own.apply(this, args);
          },
      );
    try {
      await work();
    } finally {
      for (const restore of patched.splice(0)) restore();
    }
    return looks;
  }
  const MANY = 10_000;
  const request = { holder: "h", kinds: ["k"], leaseMs: 1_000 };

  it("counts what is looked at", async () => {
    const many = new Map(Array.from({ length: 50 }, (_, at) => [at, at]));
    expect(await looksOf(async () => [...many.values()])).toBe(50);
  });

  it.each([
    ["of an owner who runs as many as may run", () => "busy", 1],
    ["of as many owners", () => undefined, 10],
    ["that are not ready yet", () => "later", 10],
  ])("%s: looks at a few", async (_what, owner, perOwner) => {
    let now = 0;
    const store = memoryTasks({ now: () => now });
    const wakes = owner() === "later";
    for (let count = 0; count < MANY; count++) {
      const task = newTask({ kind: "k", maxOpen: MANY, ...(owner() && { owner: String(owner()) }) });
      await store.create(task);
      if (!wakes) continue;
      const hold = { ...request, holder: task.id, id: task.id, perOwner: MANY };
      await store.claim(hold);
      await store.settle(hold, { body: task.body, phase: "ready", wakeMs: 20_000, open: [] });
    }
    await store.claim({ ...request, holder: "first", perOwner: MANY, leaseMs: 30_000 });
    now = 1;
    const other = newTask({ kind: "k" });
    await store.create(other);
    let claimed: string | undefined;
    const looks = await looksOf(async () => {
      claimed = (await store.claim({ ...request, perOwner }))?.id;
    });
    expect(claimed).toBeDefined();
    if (owner() !== undefined) expect(claimed).toBe(other.id);
    expect(looks).toBeLessThan(10);
  });

  it("counts what runs and what is open of an owner right, when a task is gone while somebody ran it", async () => {
    let now = 0;
    const store = memoryTasks({ now: () => now });
    // More than one operation clears away.
    for (let count = 0; count < 40; count++) await store.create(newTask({ lifeMs: 10, keepMs: 5 }));
    const short = newTask({ kind: "k", owner: "o", lifeMs: 10, keepMs: 10, maxOpen: 1 });
    await store.create(short);
    await store.claim({ ...request, perOwner: 1, leaseMs: 50 });
    expect(await store.create(newTask({ owner: "o", maxOpen: 1 }))).toBe("full");
    now = 30;
    // Its id is free again, though its lease goes on.
    expect(await store.create(short)).toBe("created");
    expect((await store.claim({ ...request, perOwner: 1, leaseMs: 1 }))?.id).toBe(short.id);
    now = 100;
    const next = newTask({ kind: "k", owner: "o", maxOpen: 1 });
    expect(await store.create(next)).toBe("created");
    expect((await store.claim({ ...request, perOwner: 1 }))?.id).toBe(next.id);
  });
});
