import { useRef, useState } from "preact/hooks";

/**
 * State that is read as it was last set. A handler of what is drawn knows the state of that drawing only, and two keys,
 * or a key and a press, can come before the next one.
 */
export function useLatest<T>(first: () => T): readonly [shown: T, latest: () => T, set: (next: T) => void] {
  const [shown, show] = useState(first);
  const latest = useRef(shown);
  const set = (next: T) => {
    latest.current = next;
    show(() => next);
  };
  return [shown, () => latest.current, set];
}
