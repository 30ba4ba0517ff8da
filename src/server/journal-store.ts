/** Where a call's journal is between rounds: in the state, or in the ledger with only its digest in the state. */
import { decodeEntries, encodeEntries, encodeState } from "../journal/codec.ts";
import type { CallState, Entry } from "../journal/entry.ts";
import { digest } from "./digest.ts";
import type { ResolvedLedger } from "./ledger-options.ts";

/** A round's part of the journal: new entries, or (after an answer was emptied) all of them anew. */
interface Chunk {
  readonly anew: boolean;
  readonly entries: Entry[];
}

export function digestOf(journal: readonly Entry[]): string {
  return digest(encodeEntries(journal));
}

/** Puts chunks together; `undefined` when they are not the journal that `digest` names. */
export function joinChunks(chunks: readonly string[], digest: string): Entry[] | undefined {
  let journal: Entry[] = [];
  for (const text of chunks) {
    const { anew, entries } = readChunk(text);
    journal = anew ? entries : [...journal, ...entries];
  }
  return digestOf(journal) === digest ? journal : undefined;
}

/** The payload to seal for the next round, and what goes into the ledger for it. */
export function placeJournal(
  state: CallState,
  before: { readonly journal: readonly Entry[]; readonly inLedger: boolean },
  ledger: ResolvedLedger | undefined,
): { payload: string; chunk?: string } {
  const whole = () => encodeState(state);
  if (ledger === undefined || ledger.journal === "state") return { payload: whole() };
  if (ledger.journal === "auto" && !before.inLedger) {
    const payload = whole();
    if (payload.length <= ledger.journalAboveBytes) return { payload };
  }
  const kept = before.inLedger && before.journal.every((entry, index) => sameEntry(entry, state.journal[index]));
  const chunk: Chunk = kept
    ? { anew: false, entries: state.journal.slice(before.journal.length) }
    : { anew: true, entries: [...state.journal] };
  return { payload: encodeState(state, digestOf(state.journal)), chunk: writeChunk(chunk) };
}

function sameEntry(left: Entry, right: Entry | undefined): boolean {
  return left === right;
}

function writeChunk({ anew, entries }: Chunk): string {
  return `${anew ? "=" : "+"}${encodeEntries(entries)}`;
}

function readChunk(text: string): Chunk {
  return { anew: text.startsWith("="), entries: decodeEntries(text.slice(1)) };
}
