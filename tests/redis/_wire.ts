/**
 * A Redis client of a few lines over a bare socket, for the fixture and for the double of jsr:@db/redis. Error
 * replies reject with their text, dash included.
 */
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import type { Socket } from "node:net";

export class Wire {
  readonly #socket: Socket;
  readonly #replies: { resolve(value: unknown): void; reject(error: unknown): void }[] = [];
  #buffer: Buffer = Buffer.alloc(0);
  /** If set, receives all incoming data, as on a subscribed connection. */
  onPush: ((message: unknown[]) => void) | undefined;
  closed = false;
  readonly ended: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (data: Buffer) => this.#receive(data));
    socket.on("error", () => {});
    this.ended = new Promise((resolve) =>
      socket.on("close", () => {
        this.closed = true;
        for (const reply of this.#replies.splice(0)) reply.reject(new Error("the connection was closed"));
        resolve();
      })
    );
  }

  static async connect(port: number): Promise<Wire> {
    const socket = connect(port, "127.0.0.1");
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return new Wire(socket);
  }

  send(...parts: (string | number)[]): Promise<unknown> {
    if (this.closed) return Promise.reject(new Error("the connection is closed"));
    const encoded = parts.map((part) => `$${Buffer.byteLength(String(part))}\r\n${part}\r\n`);
    return new Promise((resolve, reject) => {
      this.#replies.push({ resolve, reject });
      this.#socket.write(`*${parts.length}\r\n${encoded.join("")}`);
    });
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.ended;
  }

  #receive(data: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    for (let reply = read(this.#buffer); reply !== undefined; reply = read(this.#buffer)) {
      const { value, rest } = reply;
      this.#buffer = rest;
      if (this.onPush !== undefined && Array.isArray(value) && value[0] === "message") {
        this.onPush(value);
        continue;
      }
      const call = this.#replies.shift();
      if (value instanceof Error) call?.reject(value);
      else call?.resolve(value);
    }
  }
}

interface Reply {
  readonly value: unknown;
  /** The bytes after it. */
  readonly rest: Buffer;
}

/** The first reply in these bytes; undefined if they end within it. */
function read(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf("\r\n");
  if (end < 0) return undefined;
  const [type, text, rest] = [bytes.toString("utf8", 0, 1), bytes.toString("utf8", 1, end), bytes.subarray(end + 2)];
  const length = Number(text);
  if (type === "+") return { value: text, rest };
  if (type === "-") return { value: new Error(`-${text}`), rest };
  if (type === ":") return { value: length, rest };
  if (length < 0) return { value: null, rest };
  if (type === "*") return readArray(rest, length);
  if (type !== "$") throw new Error(`unexpected reply ${type}${text}`);
  if (rest.length < length + 2) return undefined;
  return { value: rest.toString("utf8", 0, length), rest: rest.subarray(length + 2) };
}

function readArray(bytes: Buffer, length: number): Reply | undefined {
  const value: unknown[] = [];
  let rest = bytes;
  for (let i = 0; i < length; i++) {
    const item = read(rest);
    if (item === undefined) return undefined;
    value.push(item.value);
    rest = item.rest;
  }
  return { value, rest };
}
