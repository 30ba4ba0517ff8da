// One side of the comparison as a process of its own: it makes flows in its own database when it is told to.
// The flow is the same on every side: write a row, wait for a person's answer, write a row with that answer.
import pg from "pg";

export const POOL = 10;
export const url = process.env.BENCH_DATABASE;
export const answerTo = (id) => `yes to ${id}`;

/** The effect: a row. A second one for the same flow and step would be an error, so what runs twice is seen. */
export function effects() {
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  const text = "INSERT INTO public.effects (flow, step, answer) VALUES ($1, $2, $3)";
  const write = async (flow, step, answer) => {
    await pool.query({ name: "effect", text, values: [flow, step, answer] });
    return step;
  };
  return { write, close: () => pool.end() };
}

/**
 * Takes `{ kind, batch, count, flight }` from the parent and answers with the ms that `count` flows took, and the CPU ms of this process.
 * @param kinds by name, how one flow runs; it resolves when the flow has ended, to the answer it used.
 */
export function serve(kinds, close) {
  process.on("message", async ({ kind, batch, count, flight }) => {
    try {
      let started = 0;
      const [begun, cpuBefore] = [performance.now(), process.cpuUsage()];
      const worker = async () => {
        while (started < count) {
          const id = `${kind}-${batch}-${started++}`;
          const used = await kinds[kind](id);
          if (used !== answerTo(id)) throw new Error(`${id} ended with ${used}`);
        }
      };
      await Promise.all(Array.from({ length: flight }, worker));
      const { user, system } = process.cpuUsage(cpuBefore);
      process.send({ ms: performance.now() - begun, cpuMs: (user + system) / 1_000 });
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) });
    }
  });
  process.on("disconnect", async () => {
    await close();
    process.exit(0);
  });
  process.send({ ready: true });
}
