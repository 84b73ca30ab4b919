//! Events come faster than a screen shows them: they are gathered and handed on once a frame.

export class Batch<T> {
  private waiting: T[] = [];
  private cancel: (() => void) | null = null;

  constructor(private readonly flushed: (items: T[]) => void) {}

  push(item: T): void {
    this.waiting.push(item);
    this.cancel ??= soon(() => this.flush());
  }

  /** Hands on what waits, now. */
  flush(): void {
    this.cancel?.();
    this.cancel = null;
    const items = this.waiting;
    this.waiting = [];
    if (items.length > 0) this.flushed(items);
  }

  drop(): void {
    this.cancel?.();
    this.cancel = null;
    this.waiting = [];
  }
}

/** With the next frame; a page in the background has none, so a timer comes to its aid. */
function soon(run: () => void): () => void {
  const frame = requestAnimationFrame(() => done());
  const timer = setTimeout(() => done(), 250);
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const done = () => {
    cancel();
    run();
  };
  return cancel;
}
