/**
 * Parley for servers: flows that ask in the middle of a call. Everything exported here is public API; changes are
 * listed in CHANGELOG.md.
 */
export {
  ERROR_TABLE,
  InputCancelled,
  InputDeclined,
  InvalidAnswer,
  ParleyError,
  type ParleyErrorCode,
  StepFailed,
  type StepFailure,
} from "./errors.ts";
export {
  type AnyFlow,
  type FlowConfig,
  type PromptConfig,
  type PromptFlow,
  prompt,
  type ResourceConfig,
  type ResourceFlow,
  resource,
  type ToolConfig,
  type ToolFlow,
  tool,
} from "./flow/define.ts";
export type {
  AskOptions,
  CapabilityName,
  ConfirmOptions,
  Flow,
  FormQuestion,
  FormSchemaInput,
  OutcomeQuestions,
  Progress,
  Recorded,
  StepOptions,
  UntilOptions,
  UrlQuestion,
} from "./flow/types.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./ledger/contract.ts";
export type { FormValue } from "./protocol/form/index.ts";
export type {
  ClientCapabilities,
  FormContent,
  FormProperty,
  FormSchema,
  InputRequest,
  InputRequests,
  InputRequired,
  InputResponse,
  InputResponses,
  Json,
  QuestionKind,
  Root,
  SamplingParams,
  SamplingResult,
} from "./protocol/types.ts";
export { FlowDiverged } from "./replay/divergence.ts";
export type { Outcome } from "./replay/question.ts";
export type { BackgroundOptions, RetryOptions, StepContext } from "./replay/types.ts";
export type { ParleyEvent, WarningCode } from "./server/events.ts";
export type { LedgerOptions } from "./server/ledger-options.ts";
export type { ParleyHandler } from "./server/native/handler.ts";
export type { CallerHeaders, HandlerOptions } from "./server/native/options.ts";
export type { ParleyLimits, ParleyOptions } from "./server/options.ts";
export { createParley, type Parley } from "./server/parley.ts";
export type { TaskSubscriptionOptions } from "./server/tasks/listen.ts";
export type { TasksOptions } from "./server/tasks/options.ts";
export type { OpenedTicket, PageSubject, TicketOptions, TicketQuestion, Tickets } from "./server/tickets.ts";
export type { Principal, StateRefusal } from "./state/index.ts";
export type {
  ClaimedTask,
  NewTask,
  StoredTask,
  TaskAnswer,
  TaskClaimRequest,
  TaskHold,
  TaskPhase,
  TaskSettlement,
  TaskStore,
} from "./tasks/contract.ts";
