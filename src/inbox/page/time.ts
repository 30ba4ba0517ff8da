import { useEffect, useState } from "preact/hooks";
import { usePage } from "./context.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The host's time, again every second. */
export function useNow(): number {
  const { api } = usePage();
  const [now, setNow] = useState(api.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(api.now()), 1000);
    return () => clearInterval(timer);
  }, [api]);
  return now;
}

/** A duration as people say it, in its largest unit or two. */
export function inWords(ms: number): string {
  if (ms < MINUTE_MS) return plural(Math.max(0, Math.floor(ms / 1000)), "second");
  if (ms < HOUR_MS) return plural(Math.floor(ms / MINUTE_MS), "minute");
  if (ms < DAY_MS) {
    const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
    return plural(Math.floor(ms / HOUR_MS), "hour") + (minutes === 0 ? "" : ` ${plural(minutes, "minute")}`);
  }
  const hours = Math.floor((ms % DAY_MS) / HOUR_MS);
  return plural(Math.floor(ms / DAY_MS), "day") + (hours === 0 ? "" : ` ${plural(hours, "hour")}`);
}

/** A point in time; the day is left out for today. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
