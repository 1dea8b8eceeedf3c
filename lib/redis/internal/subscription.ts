/**
 * The one subscription of a process and client, from its start to its end. Invariants: no waiter is registered as
 * reachable by push before the server has confirmed the subscription, or while its connection is known to be down; the
 * subscription ends a while after the last waiter has gone.
 *
 * @module
 */
import { codeOf, messageOf } from "../errors.ts";
import type { ScriptRunner } from "./script_runner.ts";
import { CHANNEL } from "../scripts/script.ts";
import { now, Timer } from "./clock.ts";
import { type Listener, Listeners } from "./listeners.ts";

/** How the server reaches the caller. */
export const NotifyMode = {
  /** By push, over a confirmed subscription: if nothing listens, the waiter is dead. */
  push: "p",
  /** By its own heartbeats, and by a push that may get lost. */
  heartbeat: "h",
  /** Not at all: the caller does not wait. */
  none: "t",
} as const;

export type NotifyMode = typeof NotifyMode[keyof typeof NotifyMode];

/** Opening a connection for every short wait would cost more than keeping it for a while. */
const LINGER = 1000;

/** A subscription that ends as soon as it has begun is not begun again at once, but with the next heartbeat. */
const APART = 500;

type Stop = () => void | Promise<void>;

/** One subscription, from its request to its end. */
interface Attempt {
  confirmed: boolean;
  /** Its connection is down, and may come back. */
  lost: boolean;
  stop: Stop | undefined;
}

export class Subscription {
  readonly #connection: ScriptRunner;
  readonly #listeners = new Listeners();
  /** The server or the client does not allow any. */
  #never: boolean;
  #current: Attempt | undefined;
  /** Ends the one before, which is kept until the current one is confirmed, as it may still work. */
  #endBefore: Stop | undefined;
  #notBefore = -Infinity;
  #confirmedAt = -Infinity;
  readonly #linger = new Timer(() => this.#end());

  constructor(connection: ScriptRunner) {
    this.#connection = connection;
    this.#never = connection.backend.subscribe === undefined;
    connection.onClose({ index: -1, close: () => this.#close() });
  }

  /** Whether messages arrive now. */
  get live(): boolean {
    return this.#current?.confirmed === true && !this.#current.lost;
  }

  /** How the server can reach a waiter now. In a cluster no node knows all subscribers. */
  get mode(): NotifyMode {
    return this.live && !this.#connection.backend.cluster ? NotifyMode.push : NotifyMode.heartbeat;
  }

  /** Also after each answer that a waiter still waits: a subscription that has ended begins again here. */
  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.add(id, listener);
    if (this.#current === undefined && !this.#never && now() >= this.#notBefore) this.#start();
  }

  delete(id: string): void {
    if (!this.#listeners.delete(id) || this.#listeners.size > 0) return;
    if (this.#current?.confirmed || this.#endBefore) this.#linger.set(now() + LINGER);
  }

  /** Whether the first waiter of a queue may have been granted, without a message, since a command sent at `sentAt`. */
  mayHaveMissed(id: string, queue: string, sentAt: number): boolean {
    return this.#confirmedAt > sentAt && this.#listeners.firstOf(queue)?.[0] === id;
  }

  /** Asks for the first waiter of a queue: one before it was granted, and the message was missed. */
  askNext(queue: string): void {
    this.#listeners.firstOf(queue)?.[1].ask();
  }

  /** The server does not know this subscription, which then sits on another server: begins again. */
  restart(): void {
    if (!this.#current?.confirmed || this.#current.lost || now() < this.#notBefore) return;
    this.#end();
    this.#start();
  }

  /** The client is closed: no message comes any more. The adapter closes the connections that it opened. */
  #close(): void {
    this.#linger.clear();
    this.#current = undefined;
    this.#listeners.askFirst(Infinity);
  }

  #start(): void {
    const mine: Attempt = this.#current = { confirmed: false, lost: false, stop: undefined };
    this.#notBefore = now() + APART;
    const channel = CHANNEL + this.#connection.process;
    const subscribe = async () =>
      await this.#connection.backend.subscribe?.(
        channel,
        (message) => this.#listeners.receive(message),
        () => this.#resumed(mine),
        (forGood) => this.#lost(mine, forGood),
      );
    subscribe().then((stop) => this.#started(mine, stop), (error) => this.#failed(mine, error));
  }

  #started(mine: Attempt, stop: Stop | undefined): void {
    if (mine !== this.#current) return void ignoreErrors(stop);
    mine.stop = stop;
    mine.confirmed = true;
    this.#stopBefore();
    this.#confirmedAt = now();
    // A hand-off may have come before: to the first of a queue, as the ones behind it are granted later.
    this.#listeners.askFirst(1);
    if (this.#listeners.size === 0) this.#linger.set(now() + LINGER);
  }

  #failed(mine: Attempt, error: unknown): void {
    if (mine !== this.#current) return;
    this.#current = undefined; // the next waiter tries again
    this.#never = codeOf(error) !== "" && !this.#connection.mayPass(error);
    if (!this.#never || this.#connection.closed) return;
    console.warn(
      `Cannot listen for messages from Redis: ${messageOf(error)}. Falling back to polling: hand-off takes longer.`,
    );
  }

  /** Messages come again. */
  #resumed(mine: Attempt): void {
    if (mine !== this.#current) return;
    mine.lost = false;
    this.#listeners.askAll();
  }

  /** Waiters that cannot be notified are skipped as dead: they have to be registered as asking by heartbeats. */
  #lost(mine: Attempt, forGood = false): void {
    if (mine !== this.#current || (mine.lost && !forGood)) return;
    mine.lost = true;
    if (forGood) {
      this.#stopBefore();
      this.#endBefore = mine.stop;
      this.#current = undefined;
      if (this.#listeners.size === 0) this.#end();
    }
    this.#listeners.askAll(); // which begins the next one
  }

  #end(): void {
    const stop = this.#current?.stop;
    this.#current = undefined;
    this.#stopBefore();
    void ignoreErrors(stop);
  }

  #stopBefore(): void {
    void ignoreErrors(this.#endBefore);
    this.#endBefore = undefined;
  }
}

/** Ending a subscription fails only if the connection is gone, and the subscription with it. */
async function ignoreErrors(stop: Stop | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
