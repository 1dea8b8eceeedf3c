/** Requests over raw connections: as little work as possible beside the server that is measured. */
import { connect, type Socket } from "node:net";

const REQUEST = "GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
const ANSWER = "hello\n";

/** Kept-alive connections to a server. */
export class Load {
  readonly #sockets: Socket[];

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets;
  }

  static async open(port: number, connections: number): Promise<Load> {
    const open = () =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect(port, "127.0.0.1", () => resolve(socket)).once("error", reject);
      });
    return new Load(await Promise.all(Array.from({ length: connections }, open)));
  }

  /** Sends as many requests, one after the other on each connection; resolves when all are answered. */
  async send(requests: number): Promise<void> {
    let left = requests;
    await Promise.all(this.#sockets.map((socket) =>
      new Promise<void>((resolve, reject) => {
        const next = () => left-- > 0 ? void socket.write(REQUEST) : (socket.removeAllListeners(), resolve());
        socket.on("data", (data) => data.includes(ANSWER) && next()); // on Deno and Bun head and body come together
        socket.once("close", () => reject(new Error("Cannot measure: the server closed a connection")));
        next();
      })
    ));
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
