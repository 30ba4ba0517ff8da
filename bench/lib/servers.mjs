// Servers in processes of their own, so that what is measured is not slowed down by what measures it.
import { fork } from "node:child_process";
import { once } from "node:events";

const CHILD = new URL("../http/child.mjs", import.meta.url);

/** @param side `native`, `mount`, `sdk` or `floor`. */
export async function startServer(side, options = {}) {
  const child = fork(CHILD, [JSON.stringify({ side, ...options })], { execArgv: ["--expose-gc"] });
  const [{ port }] = await once(child, "message");
  const ask = async (question) => {
    child.send(question);
    const [answer] = await once(child, "message");
    return answer.answer;
  };
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    cpuUs: () => ask("cpuUs"),
    memory: () => ask("memory"),
    startProfile: () => ask("startProfile"),
    stopProfile: () => ask("stopProfile"),
    async stop() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** Starts a server for each side, hands them over by name, and stops them whatever happens. */
export async function withServers(sides, work) {
  const servers = {};
  try {
    for (const [name, [side, options]] of Object.entries(sides)) servers[name] = await startServer(side, options);
    return await work(servers);
  } finally {
    for (const server of Object.values(servers)) await server.stop();
  }
}
