/** Small parts of the page's own: headings that take the focus, notices, and buttons that ask twice. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useGuard } from "./guard.ts";

/** A heading that takes the focus when it appears, so that a screen reader starts there. */
export function FocusHeading({ level, children, id }: { level: 1 | 2 | 3; children: ComponentChildren; id?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const Tag = `h${level}` as "h1";
  return (
    <Tag ref={heading} tabIndex={-1} id={id}>
      {children}
    </Tag>
  );
}

export type Tone = "info" | "good" | "bad";

/** Something that happened, said where the person looks and to those who only hear. */
export function Notice({ tone = "info", children }: { tone?: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

export interface AskTwiceProps {
  /** On the first button, which changes nothing yet. */
  readonly label: string;
  /** What will happen. */
  readonly question: string;
  readonly yes: string;
  readonly onYes: () => void;
}

/** A button for what cannot be taken back: the first press only asks. */
export function AskTwice({ label, question, yes, onYes }: AskTwiceProps) {
  const [asking, setAsking] = useState(false);
  if (!asking) {
    return (
      <button type="button" class="plain" onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  const close = () => setAsking(false);
  const sure = () => {
    // What was asked is settled: the call may go on, and be asked about again.
    close();
    onYes();
  };
  return <Sure question={question} yes={yes} onYes={sure} onNo={close} />;
}

function Sure({ question, yes, onYes, onNo }: Omit<AskTwiceProps, "label"> & { onNo: () => void }) {
  const guard = useGuard(question);
  const text = useRef<HTMLParagraphElement>(null);
  useEffect(() => text.current?.focus(), []);
  return (
    <fieldset class="sure" aria-label={question} {...guard.props}>
      <p ref={text} tabIndex={-1}>
        {question}
      </p>
      <button type="button" class="danger" onClick={onYes}>
        {yes}
      </button>
      <button type="button" onClick={onNo}>
        Go back
      </button>
    </fieldset>
  );
}

/** Said when a button was pressed before what it belongs to could be read. */
export function TooEarly({ pressedEarly }: { pressedEarly: boolean }) {
  return pressedEarly ? (
    <p role="status">That had only just appeared, so nothing was done. Read it, then press again.</p>
  ) : null;
}
