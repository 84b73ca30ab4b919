//! Calls of the HTTP API. Holds the token, and nothing else.

import { Problem, asProblem, problemOf } from "./problem";
import type { Json } from "./types";

const TOKEN_KEY = "orlop.token";

export interface CallOptions {
  method?: string;
  body?: Json | FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export class Client {
  private token: string | null;

  constructor(
    readonly base: string,
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null,
  ) {
    this.token = storage?.getItem(TOKEN_KEY) ?? null;
  }

  /** Keeps the token that the user typed, or forgets it. */
  setToken(token: string | null): void {
    this.token = token;
    if (token) this.storage?.setItem(TOKEN_KEY, token);
    else this.storage?.removeItem(TOKEN_KEY);
  }

  get hasToken(): boolean {
    return this.token !== null;
  }

  /** A call whose answer is JSON; `undefined` where there is none. */
  async json<T>(path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.raw(path, options);
    if (response.status === 204) return undefined as T;
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (error instanceof DOMException) throw asProblem(error);
      throw new Problem(response.status, "internal", "The server's answer is no JSON. Is something between the page and the server?");
    }
  }

  /** A call whose answer the caller reads. A failure is thrown as a `Problem`. */
  async raw(path: string, { method, body, headers, signal }: CallOptions = {}): Promise<Response> {
    const sent = new Headers(headers);
    if (this.token) sent.set("authorization", `Bearer ${this.token}`);
    const isForm = body instanceof FormData;
    if (body !== undefined && !isForm) sent.set("content-type", "application/json");
    let response: Response;
    try {
      response = await fetch(this.base + path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: sent,
        body: body === undefined ? undefined : isForm ? body : JSON.stringify(body),
        signal,
        credentials: "same-origin",
        // A deletion may be sent while the page is being left.
        keepalive: method === "DELETE",
      });
    } catch (error) {
      throw asProblem(error);
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}
