/**
 * The one subscription of a process and client, and who waits for its messages. Invariants: nobody is put in line as
 * reachable by push before the server has confirmed the subscription; it ends a while after the last waiter has gone.
 *
 * @module
 */
import { codeOf, messageOf } from "./errors.ts";
import type { Link } from "./_link.ts";
import { CHANNEL } from "./scripts.ts";
import { Alarm, now } from "./_time.ts";

/** Somebody in line. */
export interface Listener {
  /** Granted by whoever gave it back, at this server time. */
  granted(fence: number, serverTime: number): void;
  /** A message may have been missed: ask. */
  ask(): void;
}

/** How a waiter is told: p by push, u by push in a cluster (nobody can tell whether it arrived), h by asking. */
export type Reach = "p" | "u" | "h";

/** Opening a connection for every short wait would cost more than keeping it for a while. */
const LINGER = 1000;

export class Push {
  readonly #link: Link;
  readonly #listeners = new Map<string, Listener>();
  /** off → starting → on → off; "never" where the server or the client does not allow it. */
  #state: "off" | "starting" | "on" | "never" = "off";
  #stop: (() => void | Promise<void>) | undefined;
  readonly #linger = new Alarm(() => this.#end());

  constructor(link: Link) {
    this.#link = link;
    if (link.backend.subscribe === undefined) this.#state = "never";
    link.onClose(() => this.#close());
  }

  get reach(): Reach {
    if (this.#state !== "on") return "h";
    return this.#link.backend.cluster ? "u" : "p";
  }

  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.set(id, listener);
    if (this.#state === "off") this.#start();
  }

  delete(id: string): void {
    if (!this.#listeners.delete(id) || this.#listeners.size > 0) return;
    if (this.#state === "on") this.#linger.set(now() + LINGER);
  }

  /** The client is closed: nothing more will come. What was opened for us is closed by the adapter. */
  #close(): void {
    this.#linger.clear();
    this.#stop = undefined;
    if (this.#state !== "never") this.#state = "off";
    this.#askAll();
  }

  #start(): void {
    this.#state = "starting";
    const channel = CHANNEL + this.#link.process;
    const subscribe = async () =>
      await this.#link.backend.subscribe?.(channel, (message) => this.#receive(message), () => this.#askAll());
    subscribe().then((stop) => this.#started(stop), (error) => this.#failed(error));
  }

  #started(stop: (() => void | Promise<void>) | undefined): void {
    if (this.#state !== "starting") return void ignoreErrors(stop);
    this.#stop = stop;
    this.#state = "on";
    this.#askAll(); // they stand in line as unreachable; a hand-over may have come already
    if (this.#listeners.size === 0) this.#linger.set(now() + LINGER);
  }

  #failed(error: unknown): void {
    if (this.#state !== "starting") return;
    const refused = codeOf(error) !== "" && !this.#link.mayPass(error);
    this.#state = refused ? "never" : "off"; // off: the next one who stands in line tries again
    if (!refused || this.#link.closed) return;
    console.warn(
      `Cannot listen for messages from Redis: ${messageOf(error)}. ` +
        "Waiting for locks goes on by asking, which takes longer.",
    );
  }

  #receive(message: string): void {
    const [id = "", fence, time] = message.split(" ");
    this.#listeners.get(id)?.granted(Number(fence), Number(time));
  }

  #askAll(): void {
    for (const listener of [...this.#listeners.values()]) listener.ask();
  }

  #end(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    this.#state = "off";
    void ignoreErrors(stop);
  }
}

/** Ending a subscription fails only where the connection is gone, and the subscription with it. */
async function ignoreErrors(stop: (() => void | Promise<void>) | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
