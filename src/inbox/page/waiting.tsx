/** No question is open, and the server has not come to its end: why, and what can be done (rule L9, B24, E22). */
import { useState } from "preact/hooks";
import type { CallView } from "../api.ts";
import { stopText } from "./call-state.tsx";
import { path } from "./client.ts";
import { usePage } from "./context.ts";
import { AskTwice, Notice, TooEarly } from "./controls.tsx";
import { useGuard } from "./guard.ts";
import { plural, useNow } from "./time.ts";

export function WaitingOnServer({ call, onCall }: { call: CallView; onCall: (call: CallView) => void }) {
  const { api } = usePage();
  const guard = useGuard("waiting");
  const [said, setSaid] = useState<{ tone: "info" | "bad"; text: string }>();
  const isOut = call.unreachable !== undefined;
  const post = async (what: "check" | "stop") => {
    const reply = await api.post<CallView>(`${path`/api/calls/${call.id}/`}${what}`);
    if (!reply.ok) return setSaid({ tone: "bad", text: reply.problem.message });
    const still = reply.value.unreachable === undefined && reply.value.waitingOnServer === true;
    setSaid(still ? { tone: "info", text: "The server is still waiting." } : undefined);
    onCall(reply.value);
  };
  return (
    <section class="card" aria-label={isOut ? "Server out of reach" : "Waiting for the server"} {...guard.props}>
      <h2>{isOut ? "The server cannot be reached" : "The server needs more time"}</h2>
      {call.unreachable === undefined ? (
        <p>
          It has no question for you now. If you agreed to open a page, it goes on once you are done there; the page is
          not opened again by itself.
        </p>
      ) : (
        <Unreachable at={call.unreachable.at} />
      )}
      {said !== undefined && <Notice tone={said.tone}>{said.text}</Notice>}
      <TooEarly pressedEarly={guard.pressedEarly} />
      {call.waitingOnServer === true && (
        <div class="actions">
          <button type="button" class="primary" onClick={() => void post("check")}>
            Check now
          </button>
          {!isOut && (
            <button
              type="button"
              onClick={() => setSaid({ tone: "info", text: "It waits here. Come back when you are done there." })}
            >
              Keep waiting
            </button>
          )}
          <AskTwice
            label="Stop waiting"
            question={stopText(call)}
            yes="Yes, stop the call"
            onYes={() => void post("stop")}
          />
        </div>
      )}
    </section>
  );
}

/** @param at absent: the answers went out, and nobody knows whether they arrived. */
function Unreachable({ at }: { at: number | undefined }) {
  const now = useNow();
  if (at === undefined)
    return (
      <p>
        Your answers went out and no response came: the server may have acted on them. They are sent again only if you
        check now.
      </p>
    );
  const left = Math.ceil((at - now) / 1000);
  return (
    <p>{`It is tried again by itself ${left > 0 ? `in ${plural(left, "second")}` : "now"}, and again until it answers.`}</p>
  );
}
