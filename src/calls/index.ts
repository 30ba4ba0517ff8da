export type { Call, CallOptions, CallParams, CallResults, CallStatus, TaskState } from "./call.ts";
export { type Calls, createCalls } from "./calls.ts";
export { capabilitiesOf } from "./capabilities.ts";
export { type Clock, systemClock } from "./clock.ts";
export type { CallContent, CallEvent, Recorder } from "./events.ts";
export type { Question } from "./interim.ts";
export type { CallsOptions, Pacing } from "./options.ts";
export type { QuestionContext, Responders } from "./responder.ts";
export type { SavedCall } from "./saved.ts";
