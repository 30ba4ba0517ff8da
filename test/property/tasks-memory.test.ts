/** The memory task store does what one would do that looks at every task every time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { bytes, newTask } from "../contract/tasks-suite.ts";

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly endsAt: number;
  readonly dropAt: number;
  phase: "ready" | "waiting" | "ended";
  wakeAt: number;
  holder: string | undefined;
  leaseUntil: number;
  attempt: number;
  cancelled: boolean;
  answers: string[];
}

/** The rules of the contract, plainly. */
class Model {
  readonly rows = new Map<string, Row>();
  now = 0;

  live(id: string): Row | undefined {
    const row = this.rows.get(id);
    return row !== undefined && row.dropAt > this.now ? row : undefined;
  }
  held(id: string, holder: string): Row | undefined {
    const row = this.live(id);
    return row?.holder === holder ? row : undefined;
  }
  runs = (row: Row) => row.holder !== undefined && row.leaseUntil > this.now;

  create(id: string, kind: string, owner: string, lifeMs: number, keepMs: number, maxOpen: number) {
    if (this.live(id) !== undefined) return "exists";
    const open = [...this.rows.values()].filter((row) => row.phase !== "ended" && row.endsAt > this.now);
    if (open.filter((row) => row.owner === owner).length >= maxOpen) return "full";
    const endsAt = this.now + lifeMs;
    const fresh = { phase: "ready", holder: undefined, leaseUntil: 0, attempt: 0, cancelled: false } as const;
    const row = { id, kind, owner, endsAt, dropAt: endsAt + keepMs, wakeAt: this.now, answers: [], ...fresh };
    this.rows.set(id, row);
    return "created";
  }
  claimable(kinds: readonly string[], perOwner: number): Row[] {
    const rows = [...this.rows.values()].filter((row) => row.dropAt > this.now);
    const running = (owner: string) => rows.filter((row) => row.owner === owner && this.runs(row)).length;
    return rows
      .filter((row) => row.phase === "ready" && row.wakeAt <= this.now && row.endsAt > this.now && !this.runs(row))
      .filter((row) => kinds.includes(row.kind) && running(row.owner) < perOwner);
  }
  settle(row: Row, phase: Row["phase"], wakeMs: number, open: readonly string[]): void {
    if (phase === "ended") {
      this.end(row);
      return;
    }
    row.answers = row.answers.filter((key) => open.includes(key));
    const urgent = row.answers.length > 0 || row.cancelled;
    row.phase = urgent ? "ready" : phase;
    row.wakeAt = this.now + (urgent ? 0 : wakeMs);
    row.holder = undefined;
    row.attempt = 0;
  }
  end(row: Row): void {
    row.phase = "ended";
    row.holder = undefined;
    row.answers = [];
  }
}

const KINDS = ["k1", "k2"];
const IDS = Array.from({ length: 8 }, (_, at) => `t${at}`);
const id = fc.constantFrom(...IDS);
const leaseMs = fc.constantFrom(5, 20, 1_000);
const operation = fc.oneof(
  fc.record({
    op: fc.constant("create" as const),
    id,
    kind: fc.constantFrom(...KINDS),
    owner: fc.constantFrom("o1", "o2"),
    lifeMs: fc.constantFrom(15, 60, 10_000),
    keepMs: fc.constantFrom(5, 100),
  }),
  fc.record({
    op: fc.constant("claim" as const),
    kinds: fc.constantFrom(KINDS, ["k1"], ["k2", "k1"]),
    leaseMs,
    perOwner: fc.constantFrom(1, 2, 5),
  }),
  fc.record({ op: fc.constant("pass" as const), ms: fc.constantFrom(1, 6, 30) }),
  fc.record({ op: fc.constant("answer" as const), id, key: fc.constantFrom("a", "b") }),
  fc.record({ op: fc.constant("cancel" as const), id }),
  fc.record({
    op: fc.constant("hold" as const),
    what: fc.constantFrom("renew" as const, "record" as const, "release" as const),
    hold: fc.nat(),
    leaseMs,
  }),
  fc.record({
    op: fc.constant("settle" as const),
    hold: fc.nat(),
    phase: fc.constantFrom("ready" as const, "waiting" as const, "ended" as const),
    wakeMs: fc.constantFrom(0, 10),
    open: fc.constantFrom<string[][]>([], ["a"], ["a", "b"]),
  }),
);

describe("the memory task store", () => {
  it("answers as one that looks at every task", async () => {
    const claims = { some: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 20, maxLength: 80 }), async (operations) => {
        const model = new Model();
        const store = memoryTasks({ now: () => model.now });
        const holds: { id: string; holder: string }[] = [];
        for (const step of operations) {
          switch (step.op) {
            case "create": {
              const { id, kind, owner, lifeMs, keepMs } = step;
              const expected = model.create(id, kind, owner, lifeMs, keepMs, 3);
              expect(await store.create(newTask({ id, kind, owner, lifeMs, keepMs, maxOpen: 3 }))).toBe(expected);
              break;
            }
            case "claim": {
              const { kinds, leaseMs, perOwner } = step;
              const first = Math.min(...model.claimable(kinds, perOwner).map(({ wakeAt }) => wakeAt));
              const holder = `h${holds.length}`;
              const claimed = await store.claim({ holder, kinds, leaseMs, perOwner });
              claims[claimed === undefined ? "none" : "some"]++;
              if (claimed === undefined) {
                expect(first).toBe(Number.POSITIVE_INFINITY);
                break;
              }
              const row = model.claimable(kinds, perOwner).find(({ id }) => id === claimed.id) as Row;
              expect(row?.wakeAt).toBe(first);
              Object.assign(row, { holder, leaseUntil: model.now + leaseMs, attempt: row.attempt + 1 });
              expect([claimed.attempt, claimed.cancelled]).toEqual([row.attempt, row.cancelled]);
              holds.push({ id: row.id, holder });
              break;
            }
            case "pass":
              model.now += step.ms;
              break;
            case "answer": {
              const row = model.live(step.id);
              await store.answer(step.id, [{ key: step.key, answer: bytes("x") }]);
              if (row === undefined || row.phase === "ended") break;
              row.answers.push(step.key);
              if (row.phase === "waiting") Object.assign(row, { phase: "ready", wakeAt: model.now });
              break;
            }
            case "cancel": {
              const row = model.live(step.id);
              const open = row !== undefined && row.phase !== "ended";
              const asked = open && model.runs(row);
              expect(await store.cancel(step.id, bytes("c"))).toBe(asked ? "asked" : open ? "ended" : "nothing");
              if (asked) row.cancelled = true;
              else if (open) model.end(row);
              break;
            }
            case "hold": {
              const hold = holds[step.hold % (holds.length || 1)];
              if (hold === undefined) break;
              const row = model.held(hold.id, hold.holder);
              const until = model.now + step.leaseMs;
              if (step.what === "renew") {
                const expected = row === undefined ? "lost" : row.cancelled ? "cancelled" : "held";
                expect(await store.renew(hold, step.leaseMs)).toBe(expected);
              } else if (step.what === "record") {
                expect(await store.record(hold, bytes("s"), step.leaseMs)).toBe(row !== undefined);
              } else await store.release(hold);
              if (row !== undefined && step.what === "release") row.holder = undefined;
              else if (row !== undefined) row.leaseUntil = until;
              break;
            }
            case "settle": {
              const { phase, wakeMs, open } = step;
              const hold = holds[step.hold % (holds.length || 1)];
              if (hold === undefined) break;
              const row = model.held(hold.id, hold.holder);
              expect(await store.settle(hold, { body: bytes("b"), phase, wakeMs, open })).toBe(row !== undefined);
              if (row !== undefined) model.settle(row, phase, wakeMs, open);
            }
          }
          for (const id of IDS) expect((await store.read(id))?.phase).toBe(model.live(id)?.phase);
        }
      }),
      { numRuns: 400 },
    );
    expect(claims.some).toBeGreaterThan(500);
    expect(claims.none).toBeGreaterThan(500);
  });
});
