//! Which results of actions this page knows already, because it asked for them: everybody hears of every action.

/** So long an event may come after the answer. */
const LATE_MS = 30_000;

interface Run {
  key: string;
  /** When the answer came; `null` while it is waited for. */
  answered: number | null;
}

export class OwnRuns {
  private runs: Run[] = [];

  constructor(private readonly now: () => number = () => Date.now()) {}

  /** An action is about to run here. Call what is given back when it has answered. */
  begin(session: string | null, plugin: string, action: string): () => void {
    const run: Run = { key: keyOf(session, plugin, action), answered: null };
    this.runs.push(run);
    return () => {
      run.answered = this.now();
    };
  }

  /** Whether an event tells of an action of this page. Each run has one event. */
  tells(session: string | null, plugin: string, action: string): boolean {
    this.runs = this.runs.filter((run) => run.answered === null || this.now() - run.answered < LATE_MS);
    const key = keyOf(session, plugin, action);
    const place = this.runs.findIndex((run) => run.key === key);
    if (place >= 0) this.runs.splice(place, 1);
    return place >= 0;
  }
}

function keyOf(session: string | null, plugin: string, action: string): string {
  return JSON.stringify([session, plugin, action]);
}
