//! A real `orlop serve` in a folder of its own, with a scripted model.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const PROGRAM = process.env.ORLOP_BIN ?? resolve(import.meta.dirname, "../../target/debug/orlop");

/** Servers that run. They end with this process, however it ends. */
const running = new Set<Server>();
process.once("exit", () => running.forEach((server) => server.abandon()));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit(1));

export class Server {
  private child: ChildProcess | null = null;
  log = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private get config(): string {
    return join(this.folder, "work/orlop.toml");
  }

  private get env(): NodeJS.ProcessEnv {
    return { ...process.env, ORLOP_HOME: join(this.folder, "home"), XDG_CONFIG_HOME: join(this.folder, "config"), NO_COLOR: "1" };
  }

  /** Starts one, with `more` behind its configuration, in a copy of a project: that of the tests, or that of the pictures. */
  static async start(more = "", project: "project" | "demo" = "project"): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), "orlop-page-"));
    await cp(resolve(import.meta.dirname, project), join(folder, "work"), { recursive: true });
    await appendFile(join(folder, "work/orlop.toml"), more);
    const server = new Server(folder, await freePort());
    if (project === "project") execFileSync(PROGRAM, ["--config", server.config, "plugin", "accept", "probe", "--yes"], { cwd: join(folder, "work"), env: server.env, stdio: "pipe" });
    await server.up();
    return server;
  }

  /** Starts the program and waits until it answers. */
  async up(): Promise<void> {
    const child = spawn(PROGRAM, ["--config", this.config, "serve", "--listen", `127.0.0.1:${this.port}`], {
      cwd: join(this.folder, "work"),
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.on("data", (data: Buffer) => (this.log += data.toString()));
    child.stderr.on("data", (data: Buffer) => (this.log += data.toString()));
    this.child = child;
    running.add(this);
    let gone = false;
    child.once("exit", () => (gone = true));
    child.once("error", () => (gone = true));
    for (let tries = 0; tries < 400; tries += 1) {
      if (gone) throw new Error(`${PROGRAM} ended; build it with cargo build -p orlop\n${this.log}`);
      const ready = await fetch(`${this.url}/healthz`).then(
        (response) => response.ok,
        () => false,
      );
      if (ready) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`${PROGRAM} does not answer\n${this.log}`);
  }

  /** Ends the program, in an orderly way or at once. */
  async down(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.child;
    this.child = null;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), 8_000);
    await ended;
    clearTimeout(late);
  }

  async remove(): Promise<void> {
    await this.down();
    running.delete(this);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Ends it without waiting. */
  abandon(): void {
    this.child?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The newest request of a session, once it has ended. */
  async ended(session: string): Promise<string> {
    for (let tries = 0; tries < 600; tries += 1) {
      const { items } = await this.api<{ items: { status: string }[] }>(`/sessions/${session}/requests?limit=1`);
      const status = items[0]?.status;
      if (status && status !== "running" && status !== "waiting") return status;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the request of ${session} does not end`);
  }

  async api<T>(path: string, body?: unknown, method?: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  /** A session in which these were said, and answered. */
  async session(...texts: string[]): Promise<string> {
    const { session_id } = await this.api<{ session_id: string }>("/sessions", {});
    for (const content of texts) await this.api(`/sessions/${session_id}/requests`, { content, stream: false, queue: true });
    return session_id;
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.once("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address ? done(address.port) : fail(new Error("no port"))));
    });
  });
}
