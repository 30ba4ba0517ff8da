/** What attempts recorded, put together again. */
import { expect, test } from "vitest";
import type { Entry } from "../../src/journal/entry.ts";
import { readRecords, writeRecord } from "../../src/server/step-record.ts";

const step = (key: string): Entry => ({ type: "step", key, value: key });
const keysOf = (entries: readonly Entry[]) => entries.map(({ key }) => key);

test("records are put in order, what stands behind a gap counts as finished, and the next attempt has a number of its own", () => {
  const first = writeRecord({ attempt: 1, at: 0, entries: [step("a")] });
  const behind = writeRecord({ attempt: 1, at: 2, entries: [step("c")] });
  const second = writeRecord({ attempt: 2, at: 1, entries: [step("b")] });
  const read = readRecords([second, behind, first]);
  expect([keysOf(read.entries), [...read.finished.keys()], read.lastAttempt]).toEqual([["a", "b"], ["c"], 2]);
  expect(readRecords([]).lastAttempt).toBe(0);
});
