import type { Decide } from "./decide.ts";

/** The two ways out of a question, apart from each other and beside every way in (D1, D18, D25). */
export function WaysOut({ decide }: { decide: Decide }) {
  return (
    <>
      <button type="button" onClick={() => void decide.decide({ action: "decline" })}>
        Decline: tell the server no
      </button>
      <button type="button" onClick={() => void decide.decide({ action: "cancel" })}>
        Dismiss without an answer
      </button>
    </>
  );
}
