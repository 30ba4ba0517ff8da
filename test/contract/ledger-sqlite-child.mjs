// One of two processes that share a SQLite ledger: claims every call it is told to and prints which it won.
import { randomUUID } from "node:crypto";
import { sqliteLedger } from "../../dist/ledger/sqlite.js";

const [path, count] = [process.argv[2], Number(process.argv[3])];
const ledger = sqliteLedger({ path });
const won = [];
await Promise.all(
  Array.from({ length: count }, async (_, index) => {
    const hold = { call: `call ${index}`, round: 0, owner: randomUUID() };
    const claim = await ledger.claim({ ...hold, answers: "a", leaseMs: 60_000, keepMs: 60_000, wantJournal: false });
    if (claim.type !== "won") return;
    won.push(index);
    if (!(await ledger.settle(hold, { outcome: Buffer.from(`${process.pid}`), keepMs: 60_000 })))
      throw new Error("a hold was lost");
  }),
);
await ledger.close();
process.stdout.write(JSON.stringify({ pid: process.pid, won }));
