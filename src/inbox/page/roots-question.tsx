/** Consent to tell a server which folders it may know of (F23 to F25). */
import type { QuestionItem } from "../api.ts";
import { TooEarly } from "./controls.tsx";
import type { Decide } from "./decide.ts";
import { useGuard } from "./guard.ts";
import { plural } from "./time.ts";

export function RootsQuestion({ roots, id, decide }: { roots: QuestionItem["roots"]; id: string; decide: Decide }) {
  const guard = useGuard(`${id} roots`);
  const told = roots ?? [];
  return (
    <div {...guard.props}>
      <p>{`It would be told of ${plural(told.length, "folder")}:`}</p>
      <ul class="roots">
        {told.map(({ uri, name }) => (
          <li key={uri}>
            <bdi class="wire">{uri}</bdi>
            {name !== undefined && (
              <>
                {" "}
                (<bdi>{name}</bdi>)
              </>
            )}
          </li>
        ))}
      </ul>
      <TooEarly pressedEarly={guard.pressedEarly} />
      <div class="actions">
        <button type="button" class="primary" onClick={() => void decide.decide({ action: "accept" })}>
          Tell the server
        </button>
        <button type="button" onClick={() => void decide.decide({ action: "refuse" })}>
          Refuse: this ends the call
        </button>
      </div>
    </div>
  );
}
