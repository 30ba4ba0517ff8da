/**
 * What was just drawn takes no answer yet (rule D2): keys typed ahead, a double click that lands on the next button,
 * a key held down. The time starts again when the page comes to the front.
 */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";

/** Long enough to have seen that something new is there, short enough not to be noticed. */
export const GUARD_MS = 500;

/** Names what is on the page now. When it changes, things have moved: every guard below starts again. */
export const Drawn = createContext("");

export interface Guard {
  /** Spread onto the element that holds the controls. */
  readonly props: Record<string, unknown>;
  /** Something was pressed too early: say so. */
  readonly pressedEarly: boolean;
}

/** Guards what is drawn; again whenever `part` changes, or anything around it that moves it. */
export function useGuard(part: string): Guard {
  const stage = `${useContext(Drawn)} ${part}`;
  const settled = useRef<string | undefined>(undefined);
  const [shown, setShown] = useState<string>();
  const [pressedEarly, setPressedEarly] = useState(false);
  // Drawn anew in this very render: what was settled before counts no longer.
  const ready = settled.current === stage && shown === stage;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const restart = () => {
      clearTimeout(timer);
      settled.current = undefined;
      setShown(undefined);
      if (document.visibilityState === "hidden") return;
      timer = setTimeout(() => {
        settled.current = stage;
        setShown(stage);
        setPressedEarly(false);
      }, GUARD_MS);
    };
    restart();
    document.addEventListener("visibilitychange", restart);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", restart);
    };
  }, [stage]);
  const block = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    setPressedEarly(true);
  };
  const whenEarly = (event: Event) => {
    if (settled.current !== stage) block(event);
  };
  return {
    props: {
      "data-settled": ready,
      onClickCapture: whenEarly,
      onSubmitCapture: whenEarly,
      onKeyDownCapture: (event: KeyboardEvent) => {
        const presses = event.key === "Enter" || event.key === " ";
        if (presses && event.repeat && !(event.target instanceof HTMLTextAreaElement)) event.preventDefault();
        else if (event.key !== "Tab" && !event.ctrlKey && !event.metaKey && !event.altKey) whenEarly(event);
      },
    },
    pressedEarly,
  };
}
