/**
 * How to test a flow: in memory, through the real engine and the real state, without a server or a client.
 * `playFlow` plays a whole call with scripted answers; `startFlow` goes round by round, for what happens in between.
 * Run: npx vitest run examples/testing
 */
import { accept, cancel, decline, fakeClock, no, playFlow, startFlow, yes } from "mcp-parley/testing";
import { describe, expect, it } from "vitest";
import { book } from "../booking/server.ts";
import { deploy } from "../deploy-approval/server.ts";

const args = { environment: "staging" };
const window = accept({ when: "now" });

describe("deploy", () => {
  it("deploys what was approved, and asks both questions at once", async () => {
    const { result, rounds } = await playFlow(deploy, { args, answers: { approve: yes(), window } });
    expect(result.content).toMatchObject([{ text: expect.stringMatching(/^Deployed: plan \d+ to staging, now\.$/) }]);
    expect(rounds.map(({ questions }) => Object.keys(questions))).toEqual([["approve", "window"], []]);
  });

  it.each([
    ["no", no()],
    ["decline", decline()],
    ["cancel", cancel()],
  ])("deploys nothing on %s", async (_name, approve) => {
    const { result } = await playFlow(deploy, { args, answers: { approve, window } });
    expect(result.content).toMatchObject([{ text: "Not approved. Nothing was deployed to staging." }]);
  });

  it("gives the same result when it is replayed after every step", async () => {
    const { result } = await playFlow(deploy, { args, replay: "every-step", answers: { approve: yes(), window } });
    expect(result.content).toMatchObject([{ text: expect.stringMatching(/^Deployed/) }]);
  });

  it("refuses an approval that comes too late", async () => {
    const clock = fakeClock();
    const call = startFlow(deploy, { args, clock });
    await call.next();
    clock.advance(11 * 60_000);
    await expect(call.next({ approve: yes(), window })).rejects.toThrow("Invalid or expired requestState");
  });
});

describe("book_table", () => {
  it("asks again, with the reason, when an answer does not fit", async () => {
    const { result, rounds } = await playFlow(book, {
      args: { restaurant: "olive", date: "2027-05-01" },
      answers: { details: [accept({ guests: 40 }), accept({ guests: 4 })] },
    });
    expect(JSON.stringify(rounds[1]?.questions)).toContain("guests");
    expect(result.content).toMatchObject([{ text: "Booked: Olive, Market Square 2, 2027-05-01, 4 guests." }]);
  });
});
