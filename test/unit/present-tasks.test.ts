/** How tasks are told of at the terminal: T1, U1, F5, H28; a person is not disturbed. */
import { describe, expect, test } from "vitest";
import type { CallEvent, EventBody } from "../../src/calls/events.ts";
import { terminalTasks } from "../../src/present/index.ts";
import { taskLines } from "../../src/present/tasks.ts";
import { inTurn } from "../../src/present/terminal/turns.ts";
import { HandClock, settle } from "./calls-peer.ts";
import { FakeTerminal } from "./present-fake-terminal.ts";

const event = (body: EventBody, callId = "1") =>
  ({ callId, server: "ci", method: "tools/call", target: "build", round: 1, ...body }) as CallEvent;
const works = (statusMessage?: string, status = "working", callId = "1") =>
  event({ type: "task", status, ...(statusMessage !== undefined && { statusMessage }) }, callId);
const THE_TASK = "The task of “build” at server “ci”";

function lines() {
  const clock = new HandClock();
  const printed: string[] = [];
  return { clock, printed, tell: taskLines({ print: (line) => printed.push(line), clock }) };
}

describe("how a task goes", () => {
  test("status and message are told as they change, a status of the server's own in quotes", () => {
    const { printed, tell } = lines();
    for (const one of [works(), works("1 of 2"), works("2 of 2", "reticulating")]) tell(one);
    expect(printed).toEqual([
      `${THE_TASK} is working.`,
      `${THE_TASK} is working: “1 of 2”`,
      `${THE_TASK} is “reticulating”: “2 of 2”`,
    ]);
  });

  test("T1, U1, F5: what the server says is visible, on one line, bounded, and no link", () => {
    const { printed, tell } = lines();
    tell(works(`\u001b[2J\u202e\nparley: done https://evil.example ${"x".repeat(10_000)}`));
    expect(printed[0]).toContain("“⟨U+001B⟩[2J⟨U+202E⟩⟨U+000A⟩parley: done https:⟨link⟩//evil.example xxx");
    expect(printed[0]?.length).toBeLessThan(600);
  });

  test("a server that talks without end gets five lines at once, and then its latest word each two seconds", async () => {
    const { clock, printed, tell } = lines();
    for (let at = 1; at <= 1000; at++) tell(works(`${at}`));
    expect(printed).toHaveLength(5);
    await clock.pass(2000);
    expect(printed.slice(5)).toEqual([`${THE_TASK} is working: “1000”`]);
    await clock.pass(60_000);
    expect(printed, "nothing new is told twice").toHaveLength(6);
    expect(clock.pending, "no timer stays").toBe(0);
  });

  test("B24: an outage is told once, and once that it is over", async () => {
    const { clock, printed, tell } = lines();
    const out = (attempt: number) => tell(event({ type: "resent", attempt }));
    tell(works());
    for (let outage = 0; outage < 2; outage++) {
      for (let attempt = 1; attempt <= 3; attempt++) {
        out(attempt);
        await clock.pass(2000);
      }
      tell(event({ type: "task", status: "working", statusMessage: "1 of 2", back: true }));
      await clock.pass(2000);
    }
    const each = [
      `${THE_TASK}: the server cannot be reached; looking again.`,
      `${THE_TASK}: the server is back. It is working: “1 of 2”`,
    ];
    expect(printed).toEqual([`${THE_TASK} is working.`, ...each, ...each]);
    out(1);
    tell(works(undefined, "input_required"));
    tell(works());
    expect(printed.at(-1), "what it asked said that it is back").toBe(`${THE_TASK} is working.`);
  });

  test("B45: nothing stays behind of a call that is over or was let go of", () => {
    for (const body of [
      { type: "complete", ms: 1 },
      { type: "failed", code: "x" },
      { type: "aborted", left: true },
      { type: "task_cancel", acknowledged: true },
    ] as const) {
      const { clock, printed, tell } = lines();
      tell(works());
      tell(event(body));
      const told = printed.length;
      expect(clock.pending).toBe(0);
      tell(event({ type: "resent", attempt: 1 }));
      expect(printed).toHaveLength(told);
    }
  });

  test("H28: what becomes of it is always told", () => {
    for (const [acknowledged, end] of [
      [true, "was cancelled."],
      [false, "could not be cancelled, and may go on there."],
    ] as const) {
      const { printed, tell } = lines();
      for (let at = 0; at < 10; at++) tell(works(`${at}`));
      tell(event({ type: "aborted" }));
      tell(event({ type: "task_cancel", acknowledged }));
      expect(printed.slice(5)).toEqual([`${THE_TASK} ${end}`]);
    }
  });

  test("a call that fails while its task runs says that this may go on; one whose task failed does not", () => {
    for (const [status, told] of [
      ["working", 2],
      ["input_required", 1],
      ["failed", 0],
      ["cancelled", 0],
    ] as const) {
      const { printed, tell } = lines();
      tell(works(undefined, status));
      tell(event({ type: "failed", code: "x" }));
      expect(printed, status).toHaveLength(told);
      if (told > 0) expect(printed.at(-1)).toBe(`${THE_TASK} may go on there; nobody here looks after it any more.`);
    }
  });

  test("a call that is no task, and a round that is sent again, tell nothing", () => {
    const { printed, tell } = lines();
    for (const body of [
      { type: "resent", attempt: 1 },
      { type: "failed", code: "x" },
    ] as const)
      tell(event(body));
    expect(printed).toEqual([]);
  });
});

describe("at the terminal", () => {
  test("lines wait while a question is on the screen, and then tell the latest of each call", async () => {
    const { input, output } = new FakeTerminal();
    const tell = terminalTasks({ input, output });
    tell(works("before"));
    await settle();
    expect(output.written).toBe(`  ◦ ${THE_TASK} is working: “before”\n`);
    output.written = "";
    let answered = () => {};
    const asking = inTurn(
      input,
      new AbortController().signal,
      () => new Error(),
      () => {
        return new Promise<void>((resolve) => {
          answered = resolve;
        });
      },
    );
    await settle();
    for (const word of ["1", "2", "3"]) tell(works(word));
    tell(works("other", "working", "2"));
    await settle();
    expect(output.written, "nothing into the question").toBe("");
    answered();
    await asking;
    await expect
      .poll(() => output.written)
      .toBe(`  ◦ ${THE_TASK} is working: “3”\n  ◦ ${THE_TASK} is working: “other”\n`);
  });
});
