/** Calls written down, read again, and played again. */
export { type CallChange, diffCalls } from "./diff.ts";
export { type Recording, recordTo } from "./file.ts";
export type { RecordedQuestion, TranscriptKeep } from "./format.ts";
export {
  type RecordedAnswer,
  type RecordedCall,
  type RecordedEnd,
  type RecordedRound,
  readTranscript,
  type Transcript,
} from "./read.ts";
export type { RecorderOptions } from "./recorder.ts";
export { type Replay, type ReplayOptions, replayCall } from "./replay.ts";
