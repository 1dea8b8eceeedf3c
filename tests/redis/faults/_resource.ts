/**
 * The resource that the locks protect: a service to which workers report that they enter, write and leave. It records
 * the workers inside whose leases are valid, rejects writes with a stale fencing token, and keeps the figures.
 */
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createInterface } from "node:readline";

/** A report of a worker. Times are durations in milliseconds, so that no clock has to be right. */
export interface Message {
  readonly say: "enter" | "write" | "leave" | "note" | "start";
  readonly name: string;
  readonly worker: string;
  readonly fence: number;
  /** Milliseconds for which its lease is still valid. */
  readonly good: number;
  /** The end of that on the machine's wall clock, so that a late message claims no more. */
  readonly until?: number;
  readonly weight: number;
  /** Milliseconds that it waited. */
  readonly waited: number;
  /** The text of a complaint. */
  readonly text?: string;
  /** The turn of a start, by the server's clock in µs. */
  readonly at?: number;
}

interface Inside {
  readonly weight: number;
  readonly fence: number;
  until: number;
}

interface Place {
  /** By worker. */
  readonly inside: Map<string, Inside>;
  highest: number;
}

export interface Figures {
  acquisitions: number;
  longestWait: number;
  /** Writes that were rejected, because of an earlier write with a higher token. */
  stale: number;
  overlaps: string[];
  /** The complaints of workers. */
  notes: string[];
  /** Turns of the starts within the rate limit, by the server's clock in µs. */
  starts: number[];
}

export class Resource implements AsyncDisposable {
  readonly #server: Server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  readonly #places = new Map<string, Place>();
  readonly #room: number;
  /** The time of the latest entry. */
  lastEntry = 0;
  readonly figures: Figures = { acquisitions: 0, longestWait: 0, stale: 0, overlaps: [], notes: [], starts: [] };

  /** @param room The most weight that may be inside at once. */
  constructor(room: number) {
    this.#room = room;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    // The socket repeats its errors here: a killed worker resets its connection.
    const lines = createInterface({ input: socket }).on("error", () => {});
    lines.on("line", (line) => {
      const fine = this.hear(JSON.parse(line));
      if (socket.writable) socket.write(fine ? "ok\n" : "stale\n");
    });
  }

  /** Whether a write is accepted; true for all else. */
  hear(message: Message): boolean {
    const { name, worker, fence, text } = message;
    if (message.say === "start") {
      this.figures.starts.push(message.at!);
      this.#entered(message);
      return true;
    }
    if (message.say === "note") {
      this.figures.notes.push(`${worker}: ${text}`);
      return true;
    }
    const place = this.#places.get(name) ?? { inside: new Map(), highest: 0 };
    this.#places.set(name, place);
    if (message.say === "enter") this.#enter(place, message);
    else if (message.say === "leave") place.inside.delete(worker);
    const inside = place.inside.get(worker);
    if (inside) inside.until = endOf(message);
    // Tokens order only exclusive holders.
    if (message.say !== "write" || message.weight < this.#room) return true;
    if (fence < place.highest) {
      this.figures.stale++;
      return false;
    }
    place.highest = fence;
    return true;
  }

  #enter({ inside }: Place, message: Message): void {
    const { name, worker, fence, weight } = message;
    const now = performance.now();
    const good_ = [...inside].filter(([, { until }]) => until > now);
    const taken = good_.reduce((sum, [, one]) => sum + one.weight, 0);
    if (taken + weight > this.#room) {
      this.figures.overlaps.push(
        `${name}: ${worker} (${fence}) next to ${good_.map(([who, one]) => `${who} (${one.fence})`)}`,
      );
    }
    inside.set(worker, { weight, fence, until: endOf(message) });
    this.#entered(message);
  }

  #entered({ waited }: Message): void {
    this.figures.acquisitions++;
    this.figures.longestWait = Math.max(this.figures.longestWait, waited);
    this.lastEntry = performance.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function endOf({ good, until = Infinity }: Message): number {
  return performance.now() + Math.min(good, until - Date.now());
}
