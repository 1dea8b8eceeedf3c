/** A connection as its client sees it, and servers of node:http(s) to connect to. */
import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import process from "node:process";
import { connect as connectSecurely } from "node:tls";
import { GracefulShutdown, type GracefulShutdownOptions, type ShutdownReport } from "../../mod.ts";
import { nextTurn } from "../_tools.ts";
import { cert, key } from "./certificate.ts";

/** Servers of one protocol, and connections to them. */
export interface Scheme {
  create(listener: RequestListener): Server;
  connect(port: number): Socket;
}

export const host = "127.0.0.1";

export const schemes: Record<string, Scheme> = {
  http: { create: createServer, connect: (port) => connect({ port, host }) },
  https: {
    create: (listener) => createSecureServer({ cert, key }, listener),
    connect: (port) => connectSecurely({ port, host, rejectUnauthorized: false }),
  },
};

/** One connection. */
export class Client {
  text = "";
  /** Bytes that came. */
  bytes = 0;
  closed = false;
  errors: string[] = [];
  readonly socket: Socket;
  readonly #ended: Promise<void>;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (data) => {
      this.bytes += data.length;
      if (this.bytes < 1_000_000) this.text += data.toString("latin1");
    });
    socket.on("error", (error: Error & { code?: string }) => this.errors.push(error.code ?? String(error)));
    this.#ended = new Promise((resolve) => {
      socket.on("close", () => {
        this.closed = true;
        resolve();
      });
    });
  }

  /** Sends a request: a method and a path, or the path of a GET. */
  send(request: string, ...headers: string[]): void {
    const line = request.startsWith("/") ? `GET ${request}` : request;
    this.write([`${line} HTTP/1.1`, "host: localhost", ...headers, "", ""].join("\r\n"));
  }

  /** Sends a request, and waits for an answer that matches. */
  async ask(request: string, answer: RegExp, ...headers: string[]): Promise<void> {
    this.send(request, ...headers);
    await this.gets(answer);
  }

  /** Sends GETs in one piece. */
  pipeline(...paths: string[]): void {
    this.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join(""));
  }

  write(text: string): void {
    this.socket.write(text);
  }

  /** Closes the connection; resolves when it is closed. */
  destroy(): Promise<void> {
    this.socket.destroy();
    return this.#ended;
  }

  /** Resolves when the text that came matches. */
  async gets(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      assert.ok(!this.closed, `closed after ${JSON.stringify(this.text)}`);
      await nextTurn();
    }
  }

  /** Resolves when the connection is closed. */
  end(): Promise<void> {
    return this.#ended;
  }
}

/** Connects to a port of this machine or to a Unix socket, and sends a request if there is one. */
export function connected(address: number | string, request?: string, ...headers: string[]): Client {
  const client = new Client(typeof address === "string" ? connect(address) : connect({ port: address, host }));
  if (request !== undefined) client.send(request, ...headers);
  return client;
}

/** Starts to listen; resolves to the port. */
export async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, host, listening));
  return (server.address() as AddressInfo).port;
}

/** A server that listens and is attached, and how to connect to it. */
export interface Attached {
  server: Server;
  port: number;
  connect(): Client;
}

/** Attaches a server, and starts to listen. */
export async function serving(
  shutdown: GracefulShutdown,
  listener: RequestListener = () => {},
  { create, connect }: Scheme = schemes["http"]!,
): Promise<Attached> {
  const server = shutdown.attach(create(listener));
  const port = await listen(server);
  return { server, port, connect: () => new Client(connect(port)) };
}

/** The same with a request for /slow in flight, which is answered after `open`. Others are answered at once. */
export async function servingSlowly(
  shutdown: GracefulShutdown,
  scheme?: Scheme,
): Promise<Attached & { slow: Client; open: () => void }> {
  const { promise, open } = gate();
  const attached = await serving(shutdown, async ({ url }, response) => {
    if (url === "/slow") await promise;
    response.end(`done ${url};`);
  }, scheme);
  const slow = attached.connect();
  slow.send("/slow");
  while (shutdown.active < 1) await nextTurn();
  return { ...attached, slow, open };
}

/** Whether a new connection is refused by the system, and another server can bind the port. */
export async function isFree(port: number): Promise<boolean> {
  const successor = createTcpServer();
  const bound = await new Promise<boolean>((resolve) => {
    successor.on("error", () => resolve(false));
    successor.listen(port, host, () => resolve(true));
  });
  if (!bound) return false;
  await new Promise((closed) => successor.close(closed));
  // Only now: Bun never reads a silent connection, which would stay open at this end.
  const newcomer = new Client(connect({ port, host }));
  await newcomer.end();
  return newcomer.bytes === 0;
}

/** A shutdown that leaves the process's signals alone. */
export function quiet(options?: GracefulShutdownOptions): GracefulShutdown {
  return new GracefulShutdown({ signals: [], idle: 20, ...options });
}

/** Delivers an OS signal, without sending it to the tests. */
export function deliver(name: string): void {
  (process as { emit(name: string): boolean }).emit(name);
}

/** Requests the shutdown; resolves to its report. */
export function finish(shutdown: GracefulShutdown): Promise<ShutdownReport> {
  shutdown.request();
  return shutdown.finished;
}

/** Requests the shutdown; resolves when the listeners are closed. */
export async function stop(shutdown: GracefulShutdown): Promise<void> {
  await new Promise<void>((stopped) => {
    shutdown.onShutdown(() => stopped());
    shutdown.request();
  });
  await nextTurn(); // the callback is in flight no more
}

/** A promise, and a function that resolves it. */
export function gate(): { promise: Promise<void>; open: () => void } {
  let open!: () => void;
  const promise = new Promise<void>((resolve) => open = resolve);
  return { promise, open };
}

/** A body that is written by hand, and the reasons for which it was cancelled. */
export function writtenBody() {
  const cancelled: unknown[] = [];
  let out!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (out = controller),
    cancel: (reason) => void cancelled.push(reason),
  });
  return { body, out, send: (text: string) => out.enqueue(new TextEncoder().encode(text)), cancelled };
}
