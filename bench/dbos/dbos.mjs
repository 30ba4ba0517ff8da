// The side of DBOS: durable workflows with their default settings and a pool as large as ours.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { answerTo, effects, POOL, serve, url } from "./side.mjs";

const { write, close } = effects();

/** The answer alone: nobody is told what is asked. Less than what happens between a server and a person. */
const plain = DBOS.registerWorkflow(
  async (id) => {
    await DBOS.runStep(() => write(id, "a", null), { name: "a" });
    const answer = await DBOS.recv("answer", 60);
    await DBOS.runStep(() => write(id, "b", answer), { name: "b" });
    return answer;
  },
  { name: "plain" },
);

/** The question is an event that whoever asks the person waits for. */
const asked = DBOS.registerWorkflow(
  async (id) => {
    await DBOS.runStep(() => write(id, "a", null), { name: "a" });
    await DBOS.setEvent("question", `Go on with ${id}?`);
    const answer = await DBOS.recv("answer", 60);
    await DBOS.runStep(() => write(id, "b", answer), { name: "b" });
    return answer;
  },
  { name: "asked" },
);

DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, systemDatabasePoolSize: POOL, logLevel: "error" });
await DBOS.launch();

serve(
  {
    async plain(id) {
      const handle = await DBOS.startWorkflow(plain, { workflowID: id })(id);
      await DBOS.send(id, answerTo(id), "answer");
      return handle.getResult();
    },
    async asked(id) {
      const handle = await DBOS.startWorkflow(asked, { workflowID: id })(id);
      const question = await DBOS.getEvent(id, "question", 60);
      if (question !== `Go on with ${id}?`) throw new Error(`${id} asked ${question}`);
      await DBOS.send(id, answerTo(id), "answer");
      return handle.getResult();
    },
  },
  async () => {
    await DBOS.shutdown();
    await close();
  },
);
