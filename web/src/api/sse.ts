//! Server-sent events, read from a fetch body: `EventSource` can neither send a token nor follow a POST.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

/** Cuts a stream of text into events. Feed it pieces as they come. */
export class SseParser {
  private rest = "";
  private id: string | null = null;
  private event = "";
  private data: string[] = [];
  private sawReturn = false;
  /** Milliseconds to wait before reconnecting, if the server said so. */
  retry: number | null = null;

  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    // A line may end in CR, LF or both, and the two may come in different pieces.
    if (this.sawReturn && piece.startsWith("\n")) piece = piece.slice(1);
    this.sawReturn = piece.endsWith("\r");
    const lines = (this.rest + piece).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.line(line);
      if (event) found.push(event);
    }
    return found;
  }

  private line(line: string): ServerEvent | null {
    if (line === "") {
      const { event, data } = this;
      this.event = "";
      this.data = [];
      return data.length > 0 ? { id: this.id, event: event || "message", data: data.join("\n") } : null;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return null;
  }
}

/** So long a stream is left alone once everything that came is read: what comes meanwhile is read at once, and not piece by piece. */
const PAUSE_MS = 40;

/** A read that takes longer had to wait for something to come. */
const WAITED_MS = 1;

/** The events of a response body, to its end. `alive` hears of every piece, heartbeats included. */
export async function* serverEvents(body: ReadableStream<Uint8Array>, alive: () => void, pause = untilMore): AsyncGenerator<ServerEvent> {
  const parser = new SseParser();
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const asked = performance.now();
      const { done, value } = await reader.read();
      if (done) return;
      const waited = performance.now() - asked > WAITED_MS;
      alive();
      yield* parser.push(decoder.decode(value, { stream: true }));
      if (waited) await pause();
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Browsers hold back the timers of a page that nobody sees, so there it reads on. */
function untilMore(): Promise<void> | void {
  if (globalThis.document?.visibilityState !== "hidden") return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
