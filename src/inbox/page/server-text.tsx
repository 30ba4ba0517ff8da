/** Text of a server, always apart from the page's own words (rules U1 to U4, I1, I2, F5). It is only ever a text node. */
import type { Safe, SafeText } from "../../present/index.ts";

/** On one line, between quotes of the page's own. */
export function Quoted({ text }: { text: Safe }) {
  return (
    <span>
      “<bdi>{text}</bdi>”
    </span>
  );
}

/** Longer texts scroll in their frame, and can then be reached by keyboard. */
const LONG_LINES = 18;
const LONG_TEXT = 1400;

/** Several lines in a frame that says whose words they are. `own`: what the host sends, not what a server wrote. */
export function Framed({ label, text, own = false }: { label: string; text: SafeText | Safe; own?: boolean }) {
  const shown = typeof text === "string" ? text : text.text;
  const long = shown.length > LONG_TEXT || shown.split("\n").length > LONG_LINES;
  return (
    <figure class={own ? "frame own" : "frame"}>
      <figcaption>{label}</figcaption>
      <div
        class={long ? "frame-text long" : "frame-text"}
        {...(long ? { tabIndex: 0, role: "group", "aria-label": label } : {})}
      >
        <bdi>{shown}</bdi>
      </div>
    </figure>
  );
}

/** Warnings in the host's words. */
export function Warnings({ warnings, id }: { warnings: readonly Safe[]; id?: string }) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warnings" id={id}>
      {warnings.map((warning) => (
        <li key={warning}>
          <span>Careful:</span> <bdi>{warning}</bdi>.
        </li>
      ))}
    </ul>
  );
}
