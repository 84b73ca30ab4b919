//! The seconds until something may be tried again.

/** The whole seconds that are left of `wait` seconds since a moment. */
export function secondsLeft(wait: number, since: number): number {
  return whole(endOf(wait, since) - Date.now());
}

/** Tells the seconds that are left: at once, and whenever it is one less, until none is. Gives back how to end it. */
export function countDown(wait: number, since: number, tell: (left: number) => void): () => void {
  const end = endOf(wait, since);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tick = () => {
    const rest = end - Date.now();
    const left = whole(rest);
    tell(left);
    if (left > 0) timer = setTimeout(tick, rest - (left - 1) * 1_000);
  };
  tick();
  return () => clearTimeout(timer);
}

/** The clock of a server may be ahead; nobody waits longer than was said. */
function endOf(wait: number, since: number): number {
  return Math.min(since, Date.now()) + wait * 1_000;
}

function whole(rest: number): number {
  return Math.max(0, Math.ceil(rest / 1_000));
}
