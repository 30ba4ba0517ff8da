/** Host entry, `mcp-parley/client`: drive calls that ask, and show what is asked. Everything exported is public API. */
export {
  type Call,
  type CallEvent,
  type CallOptions,
  type CallParams,
  type CallResults,
  type CallStatus,
  type Calls,
  type CallsOptions,
  type Clock,
  capabilitiesOf,
  createCalls,
  type Pacing,
  type Question,
  type QuestionContext,
  type Responders,
  type SavedCall,
  systemClock,
} from "./calls/index.ts";
export { ERROR_TABLE, ParleyError, type ParleyErrorCode } from "./errors.ts";
export type {
  CallItem,
  CallState,
  CallView,
  Decider,
  Decision,
  DecisionRequest,
  HistoryItem,
  InboxEvent,
  InboxView,
  QuestionItem,
  SamplingStage,
  ServerItem,
  StartRequest,
  ToolItem,
} from "./inbox/api.ts";
export { createInbox, type Inbox } from "./inbox/inbox.ts";
export type { InboxOptions, InboxServer } from "./inbox/options.ts";
export type { PendingCall, PendingDecision, PendingEvent, PendingQuestion, PendingState } from "./pending/call.ts";
export type { Change, PendingPage, PendingStore, PendingStoreOptions, PendingSummary } from "./pending/contract.ts";
export { memoryPending } from "./pending/memory.ts";
export type { Policy, PolicyDecision, PolicyQuestion } from "./policy/decision.ts";
export {
  type AcceptableUrl,
  type DescribeOptions,
  describeQuestion,
  type FieldView,
  type FormView,
  inspectUrl,
  nameWarnings,
  type OptionView,
  type QuestionView,
  type RefusedUrl,
  type RootsQuestionView,
  type Safe,
  type SafeText,
  type SampleQuestionView,
  type SamplingPart,
  type SamplingView,
  type TerminalOptions,
  terminalAvailable,
  terminalResponders,
  type UrlQuestionView,
  type UrlView,
  type VisibleOptions,
  visible,
} from "./present/index.ts";
export type {
  ClientCapabilities,
  ElicitAction,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  FormContent,
  FormProperty,
  FormSchema,
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
  MrtrMethod,
  QuestionKind,
  Root,
  RootsResult,
  SamplingParams,
  SamplingResult,
} from "./protocol/types.ts";
export type { Model } from "./sampling/model.ts";
