// Long flows: bytes and time of 10, 50 and 200 rounds with the journal in the state, compressed, and in a ledger.
import { createHash } from "node:crypto";
import { assertSame, interleave, round } from "../lib/measure.mjs";
import { playCall, roundServer, textForm } from "../lib/rounds.mjs";
import { redisStore, sqliteStore, withStores } from "../lib/stores.mjs";

const LENGTHS = [10, 50, 200];
const REPEATS = 9;
/** For each length; the longest calls may be played once only. */
const BUDGET_MS = 9_000;
/** 200 rounds pass the default limits of 25 rounds and 64 KiB. */
const limits = { rounds: 300, stateBytes: 2 ** 20 };

/** About 200 bytes of JSON: names that repeat and a digest that does not, the same in every placement. */
function finding(number) {
  const sha256 = createHash("sha256").update(`file ${number}`).digest("hex");
  return {
    path: `src/components/part-${number}/index.ts`,
    lines: 100 + number,
    sha256,
    verdict: "needs a person",
    by: "scanner 4",
  };
}

const review = {
  name: "review",
  run: async ({ files }, own) => {
    let kept = 0;
    for (let number = 1; number <= files; number++) {
      const { path } = await own.step(`scan-${number}`, () => finding(number));
      const { verdict } = await own.form(`ask-${number}`, { message: `Keep ${path}?`, schema: textForm("verdict") });
      if (verdict.startsWith("keep")) kept += 1;
    }
    return { content: [{ type: "text", text: `kept ${kept} of ${files}` }] };
  },
};

/** Counts what passes between the server and its store. */
function counting(ledger, traffic) {
  const sum = (parts) => parts.reduce((total, part) => total + (part?.length ?? 0), 0);
  return {
    ...ledger,
    async claim(request) {
      const claim = await ledger.claim(request);
      traffic.bytes += claim.type === "won" ? sum([...claim.steps, ...claim.journal]) : 0;
      return claim;
    },
    recordStep(hold, entry, leaseMs) {
      traffic.bytes += entry.length;
      return ledger.recordStep(hold, entry, leaseMs);
    },
    settle(hold, settlement) {
      traffic.bytes += sum([settlement.outcome, settlement.journal]);
      return ledger.settle(hold, settlement);
    },
  };
}

async function play(server, files) {
  const carried = { bytes: 0, longest: 0 };
  const answer = (key) => ({ verdict: `keep ${key.slice(4)}` });
  const played = await playCall(server, review, { files }, answer, (state) => {
    carried.bytes += 2 * state.length;
    carried.longest = Math.max(carried.longest, state.length);
  });
  return { ...played, carried };
}

export function run() {
  return withStores({ sqlite: sqliteStore, redis: redisStore }, async ({ sqlite, redis }) => {
    const traffic = { bytes: 0 };
    const inLedger = ({ ledger }) =>
      roundServer({ limits, ledger: { store: counting(ledger, traffic), record: "steps", journal: "ledger" } });
    const servers = {
      state: roundServer({ limits }),
      "state, compressed": roundServer({ limits, compress: true }),
      "ledger (sqlite)": inLedger(sqlite),
      "ledger (redis)": inLedger(redis),
    };
    const rows = [];
    for (const files of LENGTHS) {
      const plays = {};
      const side = (name, server) => async () => {
        traffic.bytes = 0;
        const begun = performance.now();
        const played = await play(server, files);
        const ms = (performance.now() - begun) / played.rounds;
        plays[name] = { ...played, stored: traffic.bytes };
        return ms;
      };
      const sides = Object.entries(servers).map(([name, server]) => [name, side(name, server)]);
      const ms = await interleave(REPEATS, Object.fromEntries(sides), BUDGET_MS);
      const outcomes = Object.values(plays).map(({ result, rounds }) => ({ result, rounds }));
      assertSame("journal", { result: outcomes[0].result, rounds: files + 1 }, ...outcomes);
      for (const [name, { carried, rounds, stored }] of Object.entries(plays)) {
        rows.push({
          "journal in": name,
          questions: files,
          "bytes carried": carried.bytes,
          "per round": round(carried.bytes / rounds),
          "longest state": carried.longest,
          "to and from store": stored,
          "ms per round": round(ms[name], 2),
        });
      }
    }
    rows.sort((a, b) => order(servers, a) - order(servers, b) || a.questions - b.questions);
    return { tables: [{ title: "a call of n questions, each after a step of about 200 bytes", rows }] };
  });
}

function order(servers, row) {
  return Object.keys(servers).indexOf(row["journal in"]);
}
