/**
 * The stream of updates that one open page reads, as server-sent events.
 *
 * @module
 */
import { type CancelRegistration, onCancel } from "../../internal/cancellation.ts";
import type { Parts } from "./view.ts";

/** How often a page is updated, in ms. */
const PERIOD = 500;

const encoder = new TextEncoder();

/** The parts that have changed, again and again until the page is closed. */
export class PartStream implements UnderlyingDefaultSource<Uint8Array>, Disposable {
  readonly #current: () => Parts;
  /** All open ones, this one included. */
  readonly #open: Set<Disposable>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #timer: CancelRegistration | undefined;
  #sent: Partial<Parts> = {};

  constructor(current: () => Parts, open: Set<Disposable>) {
    this.#current = current;
    this.#open = open;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#open.add(this);
    this.#send();
  }

  cancel(): void {
    this.#timer?.end();
    this.#open.delete(this);
  }

  [Symbol.dispose](): void {
    this.cancel();
    this.#controller?.close();
  }

  #send(): void {
    this.#timer = onCancel({ timeout: PERIOD, keepsAlive: false }, () => this.#send());
    const controller = this.#controller!;
    if ((controller.desiredSize ?? 0) <= 0) return; // a slow reader gets fewer updates, not a backlog
    const parts = this.#current();
    const changed = Object.entries(parts).filter(([id, html]) => this.#sent[id as keyof Parts] !== html);
    this.#sent = parts;
    // A comment keeps proxies from closing the connection, and finds out whether it is still open.
    const event = changed.length === 0 ? ":\n\n" : `data: ${JSON.stringify(Object.fromEntries(changed))}\n\n`;
    controller.enqueue(encoder.encode(event));
  }
}

/** How fast a number grows, measured over at least a second. */
export class Rate {
  readonly #read: () => number;
  #count = 0;
  #at = performance.now();
  #perSecond = 0;

  constructor(read: () => number) {
    this.#read = read;
  }

  get perSecond(): number {
    const now = performance.now();
    if (now - this.#at >= 1000) {
      const count = this.#read();
      this.#perSecond = Math.round((count - this.#count) / (now - this.#at) * 1000);
      this.#count = count;
      this.#at = now;
    }
    return this.#perSecond;
  }
}
