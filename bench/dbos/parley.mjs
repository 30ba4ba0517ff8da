// Parley's side: two rounds under the PostgreSQL ledger; the client keeps the state and names its call.
import { postgresLedger } from "../../dist/ledger/postgres.js";
import { playCall, roundServer, textForm } from "../lib/rounds.mjs";
import { answerTo, effects, POOL, serve, url } from "./side.mjs";

const { write, close } = effects();
const store = postgresLedger({ connectionString: url, max: POOL });

const flow = {
  name: "bench",
  run: async ({ id }, own) => {
    await own.step("a", () => write(id, "a", null));
    const { answer } = await own.form("ask", { message: `Go on with ${id}?`, schema: textForm("answer") });
    await own.step("b", () => write(id, "b", answer));
    return { content: [{ type: "text", text: answer }] };
  },
};

const kind = (record) => {
  const server = roundServer({ ledger: { store, record } });
  return async (id) => {
    const { result } = await playCall(server, flow, { id }, () => ({ answer: answerTo(id) }));
    return result.content[0].text;
  };
};

serve(
  {
    steps: kind("steps"),
    rounds: kind("rounds"),
    /** The two rows and nothing else: what no side can go below. */
    async floor(id) {
      await write(id, "a", null);
      await write(id, "b", answerTo(id));
      return answerTo(id);
    },
  },
  async () => {
    await store.close();
    await close();
  },
);
