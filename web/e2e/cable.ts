//! The cable between a browser and a server, which a test can cut.

import { type AddressInfo, type Socket, connect, createServer } from "node:net";

export class Cable {
  private readonly open = new Set<Socket>();
  private whole = true;

  private constructor(readonly url: string) {}

  /** Lays a cable to a server. */
  static async to(port: number): Promise<Cable> {
    const listener = createServer();
    await new Promise<void>((done) => listener.listen(0, "127.0.0.1", done));
    const cable = new Cable(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`);
    listener.on("connection", (near) => cable.join(near, port));
    // It must not keep the tests from ending.
    listener.unref();
    return cable;
  }

  private join(near: Socket, port: number): void {
    if (!this.whole) {
      near.destroy();
      return;
    }
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]] as const) {
      this.open.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        this.open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  /** Nothing goes through any more, and what was under way is lost. */
  cut(): void {
    this.whole = false;
    for (const socket of this.open) socket.destroy();
  }

  mend(): void {
    this.whole = true;
  }
}
