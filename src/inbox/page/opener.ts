/**
 * Opening a page for a person (rules L6, L8): the parser's own `href`, in a window that knows nothing of this one.
 *
 * With "noopener" a browser never says whether a window came up. What tells is that opening one uses up the press
 * that allowed it, or that this page goes out of sight. If neither happens, nobody knows, and the person is asked.
 */
export type Opened = "opened" | "unknown" | "blocked";

const WAIT_MS = 1200;

export async function openPage(href: string): Promise<Opened> {
  const before = navigator.userActivation?.isActive;
  try {
    window.open(href, "_blank", "noopener,noreferrer");
  } catch {
    return "blocked";
  }
  if (before === true && !navigator.userActivation.isActive) return "opened";
  return (await wentOutOfSight()) ? "opened" : "unknown";
}

function wentOutOfSight(): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (result: boolean) => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", changed);
      resolve(result);
    };
    const changed = () => {
      if (document.visibilityState === "hidden") done(true);
    };
    const timer = setTimeout(() => done(false), WAIT_MS);
    document.addEventListener("visibilitychange", changed);
  });
}
