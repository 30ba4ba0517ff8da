// Whole calls of two rounds, by clients in processes of their own: code shared by two of them would be compiled for
// both, and the second is then slower than it is alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import { assertSame, interleave } from "./measure.mjs";

const CHILD = new URL("./caller.mjs", import.meta.url);

/**
 * @param callers by name, warm.
 * @returns calls per second and the client's CPU us for each, by name.
 */
export async function compareCalls(what, callers, flight, { repeats, ms }) {
  assertSame(what, ...Object.values(callers).map(({ result }) => result));
  const measured = Object.entries(callers).map(([name, { ask }]) => [name, () => ask("rate", { flight, ms })]);
  return interleave(repeats, Object.fromEntries(measured));
}

/**
 * Starts callers, hands them over by name, and ends them whatever happens.
 * @param sides by name: which client of callers.mjs, over which transport, to which server.
 */
export async function withCallers(sides, work) {
  const callers = {};
  try {
    for (const [name, side] of Object.entries(sides)) callers[name] = await startCaller(side);
    for (const caller of Object.values(callers)) caller.result = await caller.ask("warm");
    return await work(callers);
  } finally {
    for (const caller of Object.values(callers)) await caller.stop();
  }
}

async function startCaller(side) {
  const child = fork(CHILD, [JSON.stringify(side)]);
  const ended = once(child, "exit");
  // A client that fails ends its process: whoever waits for its answer must hear of it.
  const next = () =>
    Promise.race([once(child, "message"), ended.then(() => Promise.reject(new Error("A client ended.")))]);
  await next();
  const ask = async (question, options) => {
    child.send({ question, ...options });
    const [{ answer }] = await next();
    return answer;
  };
  return {
    ask,
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
