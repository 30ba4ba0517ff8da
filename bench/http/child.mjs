// One server in a process of its own: tells its address, then its CPU time or memory when asked, and ends with its parent.
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";

const { side, ...options } = JSON.parse(process.argv[2]);
const { listenerFor } = await import(`./${side}.mjs`);
const server = createServer(listenerFor({ tools: 2, entries: 0, ...options }));
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));

const profiler = new Session();
const answers = {
  cpuUs() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /** What is left when everything that can be has been given back. */
  async memory() {
    for (let turn = 0; turn < 4; turn++) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { heapUsed, rss } = process.memoryUsage();
    return { heapUsed, rss };
  },
  async startProfile() {
    profiler.connect();
    await profiler.post("Profiler.enable");
    await profiler.post("Profiler.setSamplingInterval", { interval: 200 });
    await profiler.post("Profiler.start");
  },
  async stopProfile() {
    const { profile } = await profiler.post("Profiler.stop");
    return profile;
  },
};
process.on("message", async (question) => process.send({ answer: await answers[question]() }));
process.on("disconnect", () => process.exit());
