/** A TCP proxy on the loopback interface, in front of a Redis server, that injects the faults of networks. */
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

/** Selects connections: those that are subscribed to a channel, those that are not, or all. */
export type Which = "subscribers" | "commands" | "all";

/** One connection through the proxy. */
interface Pipe {
  readonly client: Socket;
  readonly server: Socket;
  subscriber: boolean;
}

export class FaultProxy implements AsyncDisposable {
  readonly port: number;
  #server: Server;
  #target: number;
  readonly #pipes = new Set<Pipe>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** The latency of every chunk in milliseconds, and its jitter: the most that is added. Order is kept. */
  latency = 0;
  jitter = 0;
  /** Directions whose chunks are dropped; connections stay open. */
  #frozen: { requests: Which | undefined; replies: Which | undefined } = { requests: undefined, replies: undefined };
  /** The fault for the next request of a connection that is not subscribed. */
  #next: "cut before" | "cut after" | undefined;
  /** How many requests have been cut so far. */
  cuts = 0;

  private constructor(server: Server, target: number) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#target = target;
    server.on("connection", (client) => this.#open(client));
  }

  static async start(target: number): Promise<FaultProxy> {
    return new FaultProxy(await listen(0), target);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Directs new connections to this port; open ones stay. */
  redirect(port: number): void {
    this.#target = port;
  }

  /** Refuses new connections; open ones stay. */
  refuse(): void {
    this.#server.close();
  }

  /** Accepts new connections again, after `refuse`. */
  async accept(): Promise<void> {
    this.#server = await listen(this.port);
    this.#server.on("connection", (client) => this.#open(client));
  }

  /** Cuts a connection when its next request comes: before the server receives it, or after it ran the command. */
  cutNext(moment: "before" | "after"): void {
    this.#next = moment === "before" ? "cut before" : "cut after";
  }

  /** Closes connections at once. */
  cut(which: Which): void {
    for (const pipe of this.#pipes) if (matches(pipe, which)) destroy(pipe);
  }

  /** Makes connections half-open: nothing passes, and neither side is notified. */
  freeze(which: Which, direction: "requests" | "replies" | "both" = "both"): void {
    if (direction !== "replies") this.#frozen.requests = which;
    if (direction !== "requests") this.#frozen.replies = which;
  }

  /** Ends the fault for new connections. Half-open ones stay so forever. */
  thaw(): void {
    for (const pipe of this.#pipes) {
      const { requests, replies } = this.#frozen;
      if (requests && matches(pipe, requests)) pipe.client.removeAllListeners("data").resume();
      if (replies && matches(pipe, replies)) pipe.server.removeAllListeners("data").resume();
    }
    this.#frozen = { requests: undefined, replies: undefined };
  }

  #open(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    const pipe: Pipe = { client, server, subscriber: false };
    this.#pipes.add(pipe);
    const end = () => {
      this.#pipes.delete(pipe);
      destroy(pipe);
    };
    for (const socket of [client, server]) socket.on("error", () => {}).on("close", end);
    client.on("data", (chunk: Uint8Array) => this.#request(pipe, chunk));
    server.on("data", (chunk: Uint8Array) => this.#reply(pipe, chunk));
  }

  #request(pipe: Pipe, chunk: Uint8Array): void {
    // The command, not the word inside a script.
    if (/\r\nsubscribe\r\n/i.test(new TextDecoder().decode(chunk))) pipe.subscriber = true;
    if (this.#frozen.requests && matches(pipe, this.#frozen.requests)) return;
    if (this.#next !== undefined && !pipe.subscriber) {
      const cut = this.#next;
      this.#next = undefined;
      this.cuts++;
      if (cut === "cut before") return destroy(pipe);
      pipe.server.removeAllListeners("data").once("data", () => destroy(pipe));
    }
    this.#later(() => pipe.server.write(chunk));
  }

  #reply(pipe: Pipe, chunk: Uint8Array): void {
    if (this.#frozen.replies && matches(pipe, this.#frozen.replies)) return;
    this.#later(() => pipe.client.write(chunk));
  }

  #due = 0;

  /** Sends after the latency; never before an earlier chunk. */
  #later(send: () => void): void {
    const now = performance.now();
    if (this.latency === 0 && this.#due <= now) return send();
    this.#due = Math.max(this.#due, now + this.latency + Math.random() * this.jitter);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      send();
    }, this.#due - now);
    this.#timers.add(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut("all");
    await closed;
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

function matches(pipe: Pipe, which: Which): boolean {
  return which === "all" || pipe.subscriber === (which === "subscribers");
}

function destroy({ client, server }: Pipe): void {
  client.destroy();
  server.destroy();
}
