/**
 * The one subscription of a process and client, and who waits for its messages. Invariants: nobody is put in line as
 * reachable by push before the server has confirmed the subscription, or while its connection is known to be down; it
 * ends a while after the last waiter has gone.
 *
 * @module
 */
import { codeOf, messageOf } from "../errors.ts";
import type { Link } from "./connection.ts";
import { CHANNEL } from "../scripts/mutex.ts";
import { Alarm, now } from "./clock.ts";

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

/** What ends as soon as it has begun is not begun again in a circle, but with the next heartbeat. */
const APART = 500;

type Stop = () => void | Promise<void>;

/** From asking for it to its end. */
interface Subscription {
  confirmed: boolean;
  /** Its connection is down, and may come back. */
  lost: boolean;
  stop: Stop | undefined;
}

export class Push {
  readonly #link: Link;
  readonly #listeners = new Map<string, Listener>();
  /** Where the server or the client does not allow any. */
  #never: boolean;
  #current: Subscription | undefined;
  #notBefore = -Infinity;
  readonly #linger = new Alarm(() => this.#end());

  constructor(link: Link) {
    this.#link = link;
    this.#never = link.backend.subscribe === undefined;
    link.onClose(() => this.#close());
  }

  get reach(): Reach {
    if (!this.#current?.confirmed || this.#current.lost) return "h";
    return this.#link.backend.cluster ? "u" : "p";
  }

  /** Also after each answer that somebody is still in line: what ended meanwhile is begun again here. */
  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.set(id, listener);
    if (this.#current === undefined && !this.#never && now() >= this.#notBefore) this.#start();
  }

  delete(id: string): void {
    if (!this.#listeners.delete(id) || this.#listeners.size > 0) return;
    if (this.#current?.confirmed) this.#linger.set(now() + LINGER);
  }

  /** The client is closed: nothing more will come. What was opened for us is closed by the adapter. */
  #close(): void {
    this.#linger.clear();
    this.#current = undefined;
    this.#askAll();
  }

  #start(): void {
    const mine: Subscription = this.#current = { confirmed: false, lost: false, stop: undefined };
    this.#notBefore = now() + APART;
    const channel = CHANNEL + this.#link.process;
    const subscribe = async () =>
      await this.#link.backend.subscribe?.(
        channel,
        (message) => this.#receive(message),
        () => this.#heard(mine),
        (forGood) => this.#lost(mine, forGood),
      );
    subscribe().then((stop) => this.#started(mine, stop), (error) => this.#failed(mine, error));
  }

  #started(mine: Subscription, stop: Stop | undefined): void {
    if (mine !== this.#current) return void ignoreErrors(stop);
    mine.stop = stop;
    mine.confirmed = true;
    this.#askAll(); // they stand in line as unreachable; a hand-over may have come already
    if (this.#listeners.size === 0) this.#linger.set(now() + LINGER);
  }

  #failed(mine: Subscription, error: unknown): void {
    if (mine !== this.#current) return;
    this.#current = undefined; // the next one who stands in line tries again
    this.#never = codeOf(error) !== "" && !this.#link.mayPass(error);
    if (!this.#never || this.#link.closed) return;
    console.warn(
      `Cannot listen for messages from Redis: ${messageOf(error)}. ` +
        "Waiting for locks goes on by asking, which takes longer.",
    );
  }

  /** Messages come again. */
  #heard(mine: Subscription): void {
    if (mine !== this.#current) return;
    mine.lost = false;
    this.#askAll();
  }

  /** Whom nobody can tell is passed over as dead: all have to be known as asking by themselves, at once. */
  #lost(mine: Subscription, forGood = false): void {
    if (mine !== this.#current || (mine.lost && !forGood)) return;
    mine.lost = true;
    if (forGood) this.#end();
    this.#askAll();
  }

  #receive(message: string): void {
    const [id = "", fence, time] = message.split(" ");
    this.#listeners.get(id)?.granted(Number(fence), Number(time));
  }

  #askAll(): void {
    for (const listener of [...this.#listeners.values()]) listener.ask();
  }

  #end(): void {
    const stop = this.#current?.stop;
    this.#current = undefined;
    void ignoreErrors(stop);
  }
}

/** Ending a subscription fails only where the connection is gone, and the subscription with it. */
async function ignoreErrors(stop: Stop | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
