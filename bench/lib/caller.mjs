// One client in a process of its own: makes whole calls when asked, and ends with its parent.
import { automatic, driver } from "./callers.mjs";
import { rate } from "./measure.mjs";

/** Code that has run a few times only is slow, on every side. */
const WARM_MS = 1_500;

const { client, transport, url } = JSON.parse(process.argv[2]);
const call = await { automatic, driver }[client](url, transport);
const answers = {
  async warm() {
    await rate(32, WARM_MS, call);
    return (await call()).content;
  },
  rate: ({ flight, ms }) => rate(flight, ms, call),
};
process.on("message", async ({ question, ...options }) => process.send({ answer: await answers[question](options) }));
process.on("disconnect", () => process.exit());
process.send("ready");
