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
    for (;;) {
      const parsed = parse(this.#buffer, 0);
      if (parsed === undefined) return;
      this.#buffer = this.#buffer.subarray(parsed.end);
      if (this.onPush !== undefined && Array.isArray(parsed.value) && parsed.value[0] === "message") {
        this.onPush(parsed.value);
        continue;
      }
      const reply = this.#replies.shift();
      if (parsed.value instanceof Error) reply?.reject(parsed.value);
      else reply?.resolve(parsed.value);
    }
  }
}

interface Parsed {
  value: unknown;
  end: number;
}

function parse(buffer: Buffer, start: number): Parsed | undefined {
  const lineEnd = buffer.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  const text = buffer.toString("utf8", start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(buffer[start] ?? 0)) {
    case "+":
      return { value: text, end };
    case "-":
      return { value: new Error(`-${text}`), end };
    case ":":
      return { value: Number(text), end };
    case "$":
      return parseBulk(buffer, end, Number(text));
    case "*":
      return parseArray(buffer, end, Number(text));
  }
  throw new Error(`unexpected reply ${text}`);
}

function parseBulk(buffer: Buffer, start: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: start };
  if (buffer.length < start + length + 2) return undefined;
  return { value: buffer.toString("utf8", start, start + length), end: start + length + 2 };
}

function parseArray(buffer: Buffer, start: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: start };
  const value: unknown[] = [];
  let end = start;
  for (let i = 0; i < length; i++) {
    const item = parse(buffer, end);
    if (item === undefined) return undefined;
    value.push(item.value);
    end = item.end;
  }
  return { value, end };
}
