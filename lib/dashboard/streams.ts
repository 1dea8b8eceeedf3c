/**
 * The streams of updates that open pages read, as server-sent events. Invariant: one timer, set exactly while a stream
 * is open; each tick reads the state once for all streams.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { Timer } from "../internal/timer.ts";
import type { Frame, Parts } from "./view.ts";

/** Time between updates of a page, in ms. */
const PERIOD = 500;
/**
 * Number of periods after which a page with unread updates is closed, so that a vanished tab makes room for another.
 */
const MOST_UNREAD = 60;

export class Streams implements Disposable {
  readonly #openStreams = new Set<PartStream>();
  readonly #maxStreams: number;
  readonly #readFrame: () => Frame;
  readonly #timer: Timer;
  #isDisposed = false;

  /** @param readFrame Returns the present state. */
  constructor(maxStreams: number, readFrame: () => Frame) {
    this.#maxStreams = maxStreams;
    this.#readFrame = readFrame;
    this.#timer = new Timer(() => this.#tick());
  }

  /** The response with the updates; without a body for HEAD. */
  response(params: URLSearchParams, isHead: boolean): Response {
    const headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform", // compression, as in Express, would keep the updates back
      "x-accel-buffering": "no",
    };
    if (isHead) return new Response(null, { headers });
    // Pages reconnect automatically, even to a server that is shutting down.
    if (this.#isDisposed) return refuse(503, "The dashboard was disposed of.");
    if (this.#openStreams.size >= this.#maxStreams) {
      return refuse(503, `Too many pages are open: ${this.#maxStreams}.`, { "retry-after": "5" });
    }
    const width = Math.min(Math.max(280, Number(params.get("width")) || 800), 2000);
    const thing = params.get("thing") ?? "";
    const stream = new PartStream((frame) => frame.parts(thing, width), () => this.#openStreams.delete(stream));
    const response = new Response(new ReadableStream(stream), { headers });
    this.#openStreams.add(stream);
    stream.send(this.#readFrame());
    this.#timer.setNoLaterThan(performance.now() + PERIOD);
    return response;
  }

  [DISPOSE](): void {
    this.#isDisposed = true;
    this.#timer.clear();
    for (const stream of this.#openStreams) stream.close();
  }

  #tick(): void {
    if (this.#openStreams.size === 0) return;
    this.#timer.setNoLaterThan(performance.now() + PERIOD);
    const ready = [...this.#openStreams].filter((stream) => stream.isReady());
    if (ready.length === 0) return;
    const frame = this.#readFrame();
    for (const stream of ready) stream.send(frame);
  }
}

/** Streams the changed parts until the page is closed. */
class PartStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly #partsOf: (frame: Frame) => Parts;
  readonly #onEnd: () => void;
  readonly #encoder = new TextEncoder(); // one per stream, because jsdom lacks TextEncoder and may load the module
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The parts that the page has. */
  #sent: Partial<Parts> = {};
  /** The number of periods in a row that ended with an unread update. */
  #unreadPeriods = 0;

  /** @param partsOf Draws the parts, of which it sends those that have changed. */
  constructor(partsOf: (frame: Frame) => Parts, onEnd: () => void) {
    this.#partsOf = partsOf;
    this.#onEnd = onEnd;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  cancel(): void {
    this.#onEnd();
  }

  close(): void {
    this.#onEnd();
    this.#controller!.close();
  }

  /** A slow reader gets fewer updates instead of a backlog. A stream that is never read is closed. */
  isReady(): boolean {
    if ((this.#controller!.desiredSize ?? 0) > 0) return true; // all updates were read
    if (++this.#unreadPeriods >= MOST_UNREAD) this.close();
    return false;
  }

  send(frame: Frame): void {
    this.#unreadPeriods = 0;
    const parts = this.#partsOf(frame);
    const changed = Object.entries(parts).filter(([id, html]) => this.#sent[id as keyof Parts] !== html);
    this.#sent = parts;
    // A comment keeps proxies from closing the connection, and detects a closed one.
    const event = changed.length === 0 ? ":\n\n" : `data: ${JSON.stringify(Object.fromEntries(changed))}\n\n`;
    this.#controller!.enqueue(this.#encoder.encode(event));
  }
}

/** A response of one line. */
export function refuse(status: number, words: string, headers: Record<string, string> = {}): Response {
  const common = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return new Response(`${words}\n`, { status, headers: { ...common, ...headers } });
}
