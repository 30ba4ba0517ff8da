/** Operations that come while others are under way share one trip. */
import { describe, expect, it } from "vitest";
import { Grouping } from "../../src/ledger/grouping.ts";

/** Groups as they were sent; each ends when the test says so. */
function world(limits: { atOnce: number; most: number }) {
  const sent: { ops: readonly string[]; end: (error?: Error) => void }[] = [];
  const grouping = new Grouping<string, string>(
    limits,
    (ops) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error === undefined ? resolve(ops.map((op) => `did ${op}`)) : reject(error));
        sent.push({ ops, end });
      }),
  );
  return { grouping, sent, groups: () => sent.map(({ ops }) => ops.join("")) };
}

describe("grouping", () => {
  it("sends at once while few are under way, and what comes meanwhile together, each with its own answer", async () => {
    const { grouping, sent, groups } = world({ atOnce: 2, most: 3 });
    const answers = ["a", "b", "c", "d", "e", "f"].map((op) => grouping.do(op));
    expect(groups()).toEqual(["a", "b"]);
    sent[1]?.end();
    expect(await answers[1]).toBe("did b");
    expect(groups()).toEqual(["a", "b", "cde"]);
    sent[0]?.end();
    expect(await answers[0]).toBe("did a");
    expect(groups()).toEqual(["a", "b", "cde", "f"]);
    for (const { end } of sent) end();
    expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d", "e", "f"].map((op) => `did ${op}`));
    expect(groups()).toHaveLength(4);
  });

  it("a group that fails fails for its own members, and the next one goes on", async () => {
    const { grouping, sent, groups } = world({ atOnce: 1, most: 10 });
    const answers = ["a", "b", "c"].map((op) => grouping.do(op).catch((error: Error) => error.message));
    sent[0]?.end();
    await answers[0];
    const late = grouping.do("d");
    sent[1]?.end(new Error("lost"));
    expect(await Promise.all(answers)).toEqual(["did a", "lost", "lost"]);
    expect(groups()).toEqual(["a", "bc", "d"]);
    sent[2]?.end();
    expect(await late).toBe("did d");
    const alone = grouping.do("e");
    expect(groups()).toHaveLength(4);
    sent[3]?.end();
    expect(await alone).toBe("did e");
  });
});
