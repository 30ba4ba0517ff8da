// One of several processes that share a file of pending calls: decides every question, and prints which it won.
import { decide } from "../../dist/pending/rules.js";
import { sqlitePending } from "../../dist/pending/sqlite.js";

const [path, action] = [process.argv[2], process.argv[3]];
const store = sqlitePending({ path });
const { calls } = await store.list(200);
// All start at once: ready is said here, and go is said by whoever started us.
process.stdout.write("ready\n");
await new Promise((resolve) => process.stdin.once("data", resolve));
process.stdin.unref();
const decision = { action, by: { type: "person" }, at: Date.now() };
const won = [];
await Promise.all(
  calls.map(async ({ id }) => {
    const verdict = await store.update(id, (call) => decide(call, "r1-0", decision, { action }));
    if (verdict.type === "won") won.push(id);
    else if (verdict.decision.action === action) throw new Error("told of a decision that nobody made");
  }),
);
await store.close();
process.stdout.write(`${JSON.stringify(won)}\n`);
