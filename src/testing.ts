/** Test kit: run a flow in memory, round by round, through the real engine and the real state. */
export { accept, cancel, decline, no, roots, sampled, yes } from "./testing/answers.ts";
export { type FakeClock, fakeClock } from "./testing/clock.ts";
export {
  ALL_CAPABILITIES,
  type Answers,
  type PlayedCall,
  type PlayedRound,
  type PlayOptions,
  playFlow,
  type ResultOf,
  startFlow,
} from "./testing/play.ts";
