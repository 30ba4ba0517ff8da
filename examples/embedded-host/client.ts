/**
 * Checks the host against the deploy-approval server over HTTP: two calls wait as files, a later host goes on with
 * them, one is approved in two sittings and one declined; what is shown is escaped, and no event tells a secret.
 * Run: npx vitest run test/e2e/examples.test.ts -t embedded-host
 */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallEvent, QuestionView } from "mcp-parley/client";
import { accept, decline, yes } from "mcp-parley/testing";
import { connect } from "../shared/client.ts";
import { createHost } from "./host.ts";

export async function check(url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "host-"));
  const events: CallEvent[] = [];
  const open = async () => {
    const client = await connect(url);
    return {
      client,
      host: createHost(client, { server: "deployments", folder, onEvent: (event) => events.push(event) }),
    };
  };
  try {
    const morning = await open();
    const first = await morning.host.start("deploy", { environment: "production" });
    const second = await morning.host.start("deploy", { environment: "staging" });
    assert.deepEqual(
      [waits(first), waits(second)],
      [
        ["approve", "window"],
        ["approve", "window"],
      ],
    );
    // A person answers one question of the first call, and leaves the rest for later.
    const views: QuestionView[] = [];
    await morning.host.work((view, key) => {
      views.push(view);
      return key === "approve" && shown(view).includes("to production?") ? yes() : undefined;
    });
    await morning.client.close();
    assert.equal(views.length, 4);
    for (const view of views) assert.equal(view.server.id, "deployments", "the host's own name for the server");
    for (const file of await readdir(folder)) assert.equal((await stat(join(folder, file))).mode & 0o077, 0);

    // Another process, later: everything it needs is in the folder.
    const evening = await open();
    const ended = await evening.host.work((view, key) => {
      if (view.call.arguments?.text.includes("staging")) return decline();
      assert.equal(key, "window", "what was answered in the morning is not asked again");
      return accept({ when: "tonight" });
    });
    const results = Object.fromEntries(ended.map((standing) => [standing.id, JSON.stringify(standing)]));
    assert.match(results[first.id] ?? "", /Deployed: plan \d+ to production, tonight\./);
    assert.match(results[second.id] ?? "", /declined/);
    assert.deepEqual(await readdir(folder), [], "calls that are over are forgotten");
    await evening.client.close();

    assert.equal(events.filter(({ type }) => type === "complete").length, 2);
    assert.doesNotMatch(JSON.stringify(events), /tonight|requestState/);

    // A kept call is bound to its server's name: under another one it is not gone on with.
    const night = await open();
    await night.host.start("deploy", { environment: "staging" });
    const stranger = createHost(night.client, { server: "elsewhere", folder });
    await assert.rejects(stranger.work(decline), { code: "invalid_resume" });
    await night.client.close();
  } finally {
    await rm(folder, { recursive: true });
  }
}

function waits(standing: object): unknown {
  return "waitsFor" in standing ? standing.waitsFor : undefined;
}

function shown(view: QuestionView): string {
  return view.kind === "form" ? view.message.text : "";
}
