import type { SamplingParams } from "../../protocol/types.ts";
import type { Endpoint } from "./options.ts";

/**
 * The model for these preferences (F17): the first hint that is part of a listed name decides; of several such names,
 * and without a hint that fits, the priorities do; without any, the endpoint's own model.
 */
export function chooseModel(preferences: SamplingParams["modelPreferences"], endpoint: Endpoint): string {
  const { hints = [], costPriority = 0, speedPriority = 0, intelligencePriority = 0 } = preferences ?? {};
  const value = (model: Endpoint["models"][number]): number =>
    costPriority * model.cheapness + speedPriority * model.speed + intelligencePriority * model.intelligence;
  const best = (models: Endpoint["models"]) =>
    models.reduce((first, other) => (value(other) > value(first) ? other : first)).name;

  for (const { name } of hints) {
    if (name === undefined || name === "") continue;
    const wanted = name.toLowerCase();
    const fitting = endpoint.models.filter((model) => model.name.toLowerCase().includes(wanted));
    if (fitting.length > 0) return best(fitting);
  }
  const own = endpoint.models.find(({ name }) => name === endpoint.model);
  const rest = endpoint.models.filter((model) => model !== own);
  // The endpoint's own model first: it stays unless another one is better by these priorities.
  return costPriority + speedPriority + intelligencePriority > 0 && endpoint.models.length > 0
    ? best(own === undefined ? rest : [own, ...rest])
    : endpoint.model;
}
