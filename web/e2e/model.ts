//! A model server that speaks chat completions over real HTTP, and can be told to refuse or to break off.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export class Model {
  /** What becomes of requests to come, one each; then they are answered. */
  readonly trouble: ("too many" | "breaks off")[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<Model> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const model = new Model(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    server.on("request", (request, response) => void model.answer(request, response));
    return model;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (request.method === "GET") {
      json(response, 200, { object: "list", data: [{ id: "tide-1", object: "model" }] });
      return;
    }
    const body = JSON.parse(Buffer.concat(pieces).toString()) as { stream?: boolean; messages: { content: unknown }[] };
    // Whoever asks for a title is no part of the conversation.
    const trouble = JSON.stringify(body).includes("Write a title") ? undefined : this.trouble.shift();
    if (trouble === "too many") {
      response.setHeader("retry-after", "9");
      json(response, 429, { error: { message: "The tide is too high.", type: "rate_limit_error" } });
      return;
    }
    const said = ["High ", "water ", "at ", "**six**."];
    if (!body.stream) {
      json(response, 200, { id: "c", object: "chat.completion", model: "tide-1", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: said.join("") } }] });
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [place, content] of said.entries()) {
      if (trouble === "breaks off" && place === 2) {
        response.destroy();
        return;
      }
      chunk(response, { choices: [{ index: 0, delta: { content } }] });
    }
    chunk(response, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 21, completion_tokens: 4, total_tokens: 25 } });
    response.end("data: [DONE]\n\n");
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function chunk(response: ServerResponse, more: object): void {
  response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "tide-1", ...more })}\n\n`);
}
