//! Events come faster than anybody reads: they are gathered and handed on with a frame, some twenty times a second.

/** So long after the last time, at least. */
const PAUSE_MS = 50;

export class Batch<T> {
  private waiting: T[] = [];
  private last = 0;
  private cancel: (() => void) | null = null;

  constructor(private readonly flushed: (items: T[]) => void) {}

  push(item: T): void {
    this.waiting.push(item);
    this.cancel ??= soon(this.last + PAUSE_MS - performance.now(), () => this.flush());
  }

  /** Hands on what waits, now. */
  flush(): void {
    this.cancel?.();
    this.cancel = null;
    const items = this.waiting;
    this.waiting = [];
    this.last = performance.now();
    if (items.length > 0) this.flushed(items);
  }

  drop(): void {
    this.cancel?.();
    this.cancel = null;
    this.waiting = [];
  }
}

/** With the first frame after `ms`; a page in the background has none, so a timer comes to its aid. */
function soon(ms: number, run: () => void): () => void {
  let frame = 0;
  const timers = [setTimeout(() => (frame = requestAnimationFrame(() => done())), Math.max(0, ms)), setTimeout(() => done(), 250)];
  const cancel = () => {
    cancelAnimationFrame(frame);
    timers.forEach(clearTimeout);
  };
  const done = () => {
    cancel();
    run();
  };
  return cancel;
}
