/** What a round records on its way, as the ledger keeps it, and what the next attempt makes of it. */
import { decodeEntries, encodeEntries } from "../journal/codec.ts";
import type { Entry, StepEntry } from "../journal/entry.ts";

/** Entries in the order in which they settled, the last of them a step or a wait. */
export interface WrittenRecord {
  readonly attempt: number;
  /** How many entries of this round come before these. */
  readonly at: number;
  readonly entries: readonly Entry[];
}

export function writeRecord({ attempt, at, entries }: WrittenRecord): string {
  return `${attempt}.${at}.${encodeEntries(entries)}`;
}

/**
 * Puts records together, in whatever order the store took them. An attempt hands an entry to its flow only when all
 * before it are on record, so what stands behind a gap was not seen by a flow: its place does not matter, and of it only
 * the steps are kept.
 */
export function readRecords(texts: readonly string[]): {
  entries: Entry[];
  finished: Map<string, StepEntry>;
  /** The highest attempt that wrote one; 0 without any. */
  lastAttempt: number;
} {
  const records = texts.map(readRecord).sort((a, b) => a.attempt - b.attempt || a.at - b.at);
  const entries: Entry[] = [];
  const finished = new Map<string, StepEntry>();
  for (const record of records) {
    if (record.at === entries.length) entries.push(...record.entries);
    else for (const entry of record.entries) if (entry.type === "step") finished.set(entry.key, entry);
  }
  return { entries, finished, lastAttempt: records.at(-1)?.attempt ?? 0 };
}

function readRecord(text: string): WrittenRecord {
  const [attempt, at] = text.split(".", 2) as [string, string];
  return {
    attempt: Number(attempt),
    at: Number(at),
    entries: decodeEntries(text.slice(attempt.length + at.length + 2)),
  };
}
