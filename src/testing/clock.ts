/** A clock that moves only when told to. */
export interface FakeClock {
  readonly now: () => number;
  advance(ms: number): void;
}

export function fakeClock(startMs = 0): FakeClock {
  let at = startMs;
  return {
    now: () => at,
    advance: (ms) => {
      at += ms;
    },
  };
}
