import { memoryTasks } from "../../src/tasks/memory.ts";
import { testTasks } from "./tasks-suite.ts";

testTasks("memory", async () => {
  let now = 1_000;
  const store = memoryTasks({ now: () => now });
  return {
    open: () => store,
    pass: async (ms) => {
      now += ms;
    },
    end: async () => {},
  };
});
