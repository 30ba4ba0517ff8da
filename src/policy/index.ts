/** Rules that answer, refuse or ask, read from a file. */
export type { Policy, PolicyDecision, PolicyQuestion } from "./decision.ts";
export { toolHarm } from "./harm.ts";
export {
  type CallAbout,
  type Explanation,
  type FilePolicy,
  type PolicyOptions,
  type PolicyWarning,
  type RuleReport,
  readPolicy,
} from "./policy.ts";
export { type PolicyRecord, type PolicyRespondersOptions, policyResponders } from "./responders.ts";
