//! Failures of calls, in one form: what the server said (RFC 9457), or that it could not be reached.

import { isMap } from "./types";

export class Problem extends Error {
  constructor(
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number,
    readonly errorType: string,
    message: string,
    /** Seconds to wait before trying again, if the server said so. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }

  /** Whether the same call may work later. */
  get retryable(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503 || this.retryAfter !== null;
  }

  /** Whether somebody else works on the session. */
  get busy(): boolean {
    return this.status === 409 && this.retryAfter !== null;
  }

  get unauthorized(): boolean {
    return this.status === 401;
  }
}

/** The problem of a response that is not ok. */
export async function problemOf(response: Response): Promise<Problem> {
  const after = Number(response.headers.get("retry-after"));
  const retryAfter = response.headers.has("retry-after") && Number.isFinite(after) ? after : null;
  let body: unknown = null;
  try {
    body = await response.json();
  } catch {
    // Not every failure has a body of JSON, a proxy's for instance.
  }
  const text = (key: string) => (isMap(body) && typeof body[key] === "string" ? (body[key] as string) : null);
  const message = text("message") ?? text("detail") ?? text("title") ?? `The server answered with status ${response.status}.`;
  return new Problem(response.status, text("error_type") ?? "internal", message, retryAfter);
}

/** What went wrong, whoever threw it. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === "AbortError") return new Problem(0, "cancelled", "Cancelled.");
  return new Problem(0, "unreachable", "The server cannot be reached. Check that orlop serve is running.");
}
