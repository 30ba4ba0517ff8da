import { flowsFor, parley } from "./flows.mjs";
import { INFO } from "./work.mjs";

export const listenerFor = (options) => parley.handler({ ...INFO, tools: flowsFor(options) }).listener;
