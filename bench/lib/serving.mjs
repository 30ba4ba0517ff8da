// Servers of the same work beside each other: that they answer alike is checked first, then they take turns.
import { KEY, TOOL } from "../http/work.mjs";
import { callOf, drive, once } from "./load.mjs";
import { assertSame, interleave } from "./measure.mjs";

const REPEATS = 7;
const BATCH_MS = 250;
/** Code that has run a few times only is slow, on every side. */
const WARM_REQUESTS = 4_000;
const WARM_LONGEST_MS = 4_000;

/** Both requests of a call, ready to be sent again and again: `ask` gets the question, `answer` the result. */
async function legsOf({ port }) {
  const call = { name: TOOL, arguments: { env: "prod" } };
  const asked = await once(port, call);
  const answer = { [KEY]: { action: "accept", content: { when: "now" } } };
  const answered = { ...call, requestState: asked.requestState, inputResponses: answer };
  const results = [asked, await once(port, answered)].map(({ _meta, requestState, ...result }) => result);
  return { requests: { ask: callOf(call), answer: callOf(answered) }, results, state: asked.requestState.length };
}

/**
 * @param servers by name.
 * @returns `measure(leg, flight)`, which gives the figures of `drive` by name; and the length of each one's state.
 */
export async function prepare(what, servers) {
  const legs = {};
  for (const [name, server] of Object.entries(servers)) legs[name] = await legsOf(server);
  assertSame(what, ...Object.values(legs).map(({ results }) => results));
  const warm = new Set();
  const measure = async (leg, flight, { repeats = REPEATS, ms = BATCH_MS } = {}) => {
    const side = ([name, server]) => [name, () => drive(server, legs[name].requests[leg], flight, ms)];
    if (!warm.has(leg)) {
      for (const [name, server] of Object.entries(servers)) await warmUp(server, legs[name].requests[leg]);
      warm.add(leg);
    }
    return interleave(repeats, Object.fromEntries(Object.entries(servers).map(side)));
  };
  return { measure, states: Object.fromEntries(Object.entries(legs).map(([name, { state }]) => [name, state])) };
}

async function warmUp(server, request) {
  const begun = performance.now();
  for (let done = 0; done < WARM_REQUESTS && performance.now() < begun + WARM_LONGEST_MS; ) {
    done += (await drive(server, request, 32, 150)).requests;
  }
}
