import { memoryPending } from "../../src/pending/memory.ts";
import { testPending } from "./pending-suite.ts";

testPending("memory", () => ({ open: memoryPending }));
