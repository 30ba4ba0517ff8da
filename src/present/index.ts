/** Safe display of questions, and the terminal that asks them. */
export { describeAnswer, type FieldView, type OptionView } from "./field-view.ts";
export {
  type DescribeOptions,
  describeQuestion,
  type FormView,
  type QuestionView,
  type RootsQuestionView,
  type SampleQuestionView,
  type UrlQuestionView,
} from "./model.ts";
export { nameWarnings } from "./names.ts";
export {
  type SamplingApproval,
  type SamplingRefusal,
  type SamplingResponderOptions,
  samplingResponder,
} from "./sampling.ts";
export { describeSample, describeSampling, type SamplingPart, type SamplingView } from "./sampling-view.ts";
export { type TerminalOptions, terminalResponders } from "./terminal/responders.ts";
export { terminalAvailable } from "./terminal/surface.ts";
export { type TerminalTasksOptions, terminalTasks } from "./terminal/tasks.ts";
export { type Safe, type SafeText, type VisibleOptions, visible } from "./text.ts";
export { type AcceptableUrl, inspectUrl, type RefusedUrl, type UrlView } from "./url.ts";
