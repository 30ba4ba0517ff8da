/** After an agreed link: accept meant "agreed to open", not "done" (rule L9, E22). */
import { useState } from "preact/hooks";
import type { CallView } from "../api.ts";
import { stopText } from "./call-state.tsx";
import { path } from "./client.ts";
import { usePage } from "./context.ts";
import { AskTwice, Notice, TooEarly } from "./controls.tsx";
import { useGuard } from "./guard.ts";

export function WaitingOnServer({ call, onCall }: { call: CallView; onCall: (call: CallView) => void }) {
  const { api } = usePage();
  const guard = useGuard("waiting");
  const [said, setSaid] = useState<{ tone: "info" | "bad"; text: string }>();
  const post = async (what: "check" | "stop") => {
    const reply = await api.post<CallView>(`${path`/api/calls/${call.id}/`}${what}`);
    if (!reply.ok) return setSaid({ tone: "bad", text: reply.problem.message });
    setSaid(reply.value.waitingOnServer === true ? { tone: "info", text: "The server is still waiting." } : undefined);
    onCall(reply.value);
  };
  return (
    <section class="card" aria-label="Waiting for the server" {...guard.props}>
      <h2>The server needs more time</h2>
      <p>
        It has no question for you now. If you agreed to open a page, it goes on once you are done there; the page is
        not opened again by itself.
      </p>
      {said !== undefined && <Notice tone={said.tone}>{said.text}</Notice>}
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" onClick={() => void post("check")}>
          Check now
        </button>
        <button
          type="button"
          onClick={() => setSaid({ tone: "info", text: "It waits here. Come back when you are done there." })}
        >
          Keep waiting
        </button>
        <AskTwice
          label="Stop waiting"
          question={stopText(call)}
          yes="Yes, stop the call"
          onYes={() => void post("stop")}
        />
      </div>
    </section>
  );
}
