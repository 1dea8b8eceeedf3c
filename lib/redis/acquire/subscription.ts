/**
 * The one subscription of a client and prefix, from its start to its end. Invariants: no waiter is registered as
 * reachable by push before the server has confirmed the subscription, or while its connection is known to be down; the
 * subscription ends a while after the last waiter has gone and no hold needs it.
 *
 * @module
 */
import { codeOf, messageOf } from "../errors.ts";
import { NotifyMode, type PushListener, type Store, type Unsubscribe } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { now, SUBSCRIPTIONS_APART } from "../times.ts";
import { type Listener, Listeners } from "./listeners.ts";

/** The holds of the process, which are notified when they are revoked. */
export interface Holds {
  revoked(id: string): void;
  /** A message may have been missed. */
  missed(): void;
}

/** One subscription, from its request to its end. */
interface Attempt {
  confirmed: boolean;
  /** Its connection is down, and may come back. */
  lost: boolean;
  stop: Unsubscribe | undefined;
}

export class Subscription {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #listeners = new Listeners();
  readonly #holds: Holds;
  #forHolds = false;
  /** The server or the client does not allow any. */
  #never: boolean;
  #current: Attempt | undefined;
  /** Ends the one before, which is kept until the current one is confirmed, as it may still work. */
  #endBefore: Unsubscribe | undefined;
  #notBefore = -Infinity;
  #confirmedAt = -Infinity;
  readonly #linger = new LocalTimer(() => this.#retire());
  /** Set while a beginning has to be put off until `#notBefore`: the next heartbeat can be far away. */
  readonly #again = new LocalTimer((time) => this.#begin(time));

  constructor(store: Store, prefix: string, holds: Holds) {
    this.#store = store;
    this.#prefix = prefix;
    this.#holds = holds;
    this.#never = store.subscribe === undefined;
    store.onClose({ index: -1, close: () => this.#close() });
  }

  /** Whether messages arrive now. */
  get live(): boolean {
    return this.#current?.confirmed === true && !this.#current.lost;
  }

  /** How the server can reach a waiter now. In a cluster no node knows all subscribers. */
  get mode(): NotifyMode {
    return this.live && !this.#store.cluster ? NotifyMode.push : NotifyMode.heartbeat;
  }

  /** Also after each answer that a waiter still waits: a subscription that has ended begins again here. */
  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.add(id, listener);
    this.#begin();
  }

  delete(id: string): void {
    if (this.#listeners.delete(id)) this.#endIfUnused();
  }

  /** Listens for holds as well, while `on`; called again from time to time, as one that has ended begins again here. */
  listenForHolds(on: boolean): void {
    this.#forHolds = on;
    if (!on) return this.#endIfUnused();
    this.#linger.clear();
    this.#begin();
  }

  #isUnused(): boolean {
    return this.#listeners.size === 0 && !this.#forHolds;
  }

  #begin(time = now()): void {
    if (this.#current !== undefined || this.#never) return;
    if (time >= this.#notBefore) this.#start();
    else this.#again.advance(this.#notBefore);
  }

  #endIfUnused(): void {
    if (!this.#isUnused()) return;
    this.#again.clear();
    if (!(this.#current?.confirmed || this.#endBefore)) return;
    const { linger } = this.#store;
    if (linger === 0) this.#retire();
    else this.#linger.set(now() + linger);
  }

  /** Whether the first waiter of a queue may have been granted, without a message, since a command sent at `sentAt`. */
  mayHaveMissed(listener: Listener, sentAt: number): boolean {
    return this.#confirmedAt > sentAt && this.#listeners.isFirst(listener);
  }

  /** Asks for the first waiter of a queue: one before it was granted, and the message was missed. */
  askNext(queue: string): void {
    this.#listeners.firstOf(queue)?.ask();
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
    this.#again.clear();
    this.#current = undefined;
    this.#listeners.askFirst(Infinity);
  }

  #start(): void {
    this.#again.clear();
    const mine: Attempt = this.#current = { confirmed: false, lost: false, stop: undefined };
    this.#notBefore = now() + SUBSCRIPTIONS_APART;
    const listener: PushListener = {
      receive: (push) => push.kind === "revoked" ? this.#holds.revoked(push.id) : this.#listeners.receive(push),
      resumed: () => this.#resumed(mine),
      lost: (forGood) => this.#lost(mine, forGood),
    };
    const subscribe = async () => await this.#store.subscribe?.(listener, this.#prefix);
    subscribe().then((stop) => this.#started(mine, stop), (error) => this.#failed(mine, error));
  }

  #started(mine: Attempt, stop: Unsubscribe | undefined): void {
    if (mine !== this.#current) return void ignoreErrors(stop);
    mine.stop = stop;
    mine.confirmed = true;
    this.#stopBefore();
    this.#confirmedAt = now();
    // A hand-off may have come before: to the first of a queue, as the ones behind it are granted later.
    this.#listeners.askFirst(1);
    if (this.#forHolds) this.#holds.missed();
    this.#endIfUnused();
  }

  #failed(mine: Attempt, error: unknown): void {
    if (mine !== this.#current) return;
    this.#current = undefined; // the next waiter tries again
    this.#never = codeOf(error) !== "" && !this.#store.mayPass(error);
    if (this.#never && !this.#store.closed) this.#store.warnSlow(`SUBSCRIBE (${messageOf(error)})`);
  }

  /** Messages come again. */
  #resumed(mine: Attempt): void {
    if (mine !== this.#current) return;
    mine.lost = false;
    this.#listeners.askAll();
    if (this.#forHolds) this.#holds.missed();
  }

  /** Waiters that cannot be notified are skipped as dead: they have to be registered as asking by heartbeats. */
  #lost(mine: Attempt, forGood: boolean): void {
    if (mine !== this.#current || (mine.lost && !forGood)) return;
    mine.lost = true;
    if (forGood) {
      this.#stopBefore();
      this.#endBefore = mine.stop;
      this.#current = undefined;
      if (this.#isUnused()) this.#end();
      else if (this.#listeners.size === 0) this.#begin();
    }
    this.#listeners.askAll(); // which begins the next one, once the server has answered
  }

  /** Nothing needs it any more. It has not failed, so the next one may begin at once. */
  #retire(): void {
    this.#end();
    this.#notBefore = -Infinity;
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
async function ignoreErrors(stop: Unsubscribe | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
