/**
 * The one subscription of a client and prefix, from its start to its end, and the waiters of the process that the server
 * can notify by it. Invariants: no waiter is registered as reachable by push before the server has confirmed the
 * subscription, or while its connection is known to be down; the subscription ends a while after the last waiter has gone.
 *
 * Of the waiters of one queue only the first by their places can have been granted without a message. Their answers may
 * come in another order: a script that the server does not know is sent again.
 *
 * @module
 */
import { codeOf, messageOf } from "../errors.ts";
import type { Push, PushListener, Store, Unsubscribe } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { DEAF_AFTER, GAP_SPREAD, LINGER, now, SINGLE_COMMAND, SUBSCRIPTIONS_APART } from "../times.ts";

/** A waiter, to be notified. */
export interface Listener {
  /** The waiter's queue: the first waiters of each are the only ones that can have been granted. */
  readonly queue: string;
  /** Its place there, smaller the earlier it joined; 0 before the first answer. */
  readonly place: number;
  granted(fence: number): void;
  /** It may have become the one of its queue that asks when a life ends. */
  lead(): void;
  /** A message may have been missed: ask, at a random moment within `ms`, or at once. */
  ask(ms?: number): void;
}

/** Waiters of one queue that ask at once when messages may have been missed; the others follow, so that there is no storm. */
const FIRST = 3;

/** Those without an answer come last: their commands are in flight, and find out. */
function rank({ place }: Listener): number {
  return place || Number.MAX_VALUE;
}

/** One subscription, from its request to its end. */
interface Attempt {
  confirmed: boolean;
  /** Until then an answer of the server may come before the confirmation; later, its connection is taken for half-open. */
  readonly until: number;
  /** Its connection is down, and may come back. */
  lost: boolean;
  stop: Unsubscribe | undefined;
}

export class Subscription {
  readonly #store: Store;
  readonly #prefix: string;
  /** The waiters by their ids. */
  readonly #listeners = new Map<string, Listener>();
  /** The same by their queues. */
  readonly #queues = new Map<string, Set<Listener>>();
  /** The server or the client does not allow any. */
  #never: boolean;
  #current: Attempt | undefined;
  /** Attempts in a row that were not confirmed in their time; each may keep a connection, so each gets twice the time. */
  #unconfirmed = 0;
  /** Ends the one before, which is kept until the current one is confirmed, as it may still work. */
  #endBefore: Unsubscribe | undefined;
  /** Since when the server answers and no message could come; undefined while they can. */
  #deafSince: number | undefined;
  /** Why it could not be opened last. */
  #failure: unknown;
  #notBefore = -Infinity;
  #confirmedAt = -Infinity;
  readonly #linger = new LocalTimer(() => this.#retire());
  /** Set while a beginning has to be put off until `#notBefore`: the next heartbeat can be far away. */
  readonly #again = new LocalTimer((time) => this.#begin(time));

  constructor(store: Store, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
    this.#never = store.subscribe === undefined;
    store.onClose({ index: -1, close: () => this.#close() });
  }

  /** Whether messages arrive now. */
  get live(): boolean {
    return this.#current?.confirmed === true && !this.#current.lost;
  }

  /** Also after each answer that a waiter still waits: a subscription that has ended begins again here. */
  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.set(id, listener);
    const queue = this.#queues.get(listener.queue);
    if (queue === undefined) this.#queues.set(listener.queue, new Set([listener]));
    else queue.add(listener);
    this.#noteIfDeaf();
    if (this.#isOverdue()) {
      this.#current = undefined;
      this.#unconfirmed++;
    }
    this.#begin();
  }

  /** Asked after an answer of the server. Hand-offs are slow then, and nothing else shows why. */
  #noteIfDeaf(): void {
    if (this.live || this.#never) return void (this.#deafSince = undefined);
    this.#deafSince ??= now();
    if (now() - this.#deafSince >= DEAF_AFTER) this.#store.warnDeaf(this.#failure);
  }

  delete(id: string): void {
    // Finding out that a fresh id is not there takes time, too.
    const listener = this.#listeners.size === 0 ? undefined : this.#listeners.get(id);
    if (listener === undefined) return;
    this.#listeners.delete(id);
    const led = this.isLeader(listener);
    const queue = this.#queues.get(listener.queue)!;
    queue.delete(listener);
    const [next] = queue;
    if (next === undefined) this.#queues.delete(listener.queue);
    else if (led) next.lead();
    this.#endIfUnused();
  }

  /** Whether this waiter is the one of its queue that asks when a life ends: the others would find the same. */
  isLeader(listener: Listener): boolean {
    const [first] = this.#queues.get(listener.queue) ?? [];
    return first === listener;
  }

  /**
   * Whether it was not confirmed in its time. Asked after an answer of the server, so its own connection is the obstacle; in
   * a cluster both are on one.
   */
  #isOverdue(): boolean {
    const current = this.#current;
    return current !== undefined && !current.confirmed && now() > current.until && !this.#store.cluster;
  }

  #begin(time = now()): void {
    if (this.#current !== undefined || this.#never) return;
    if (time >= this.#notBefore) this.#start();
    else this.#again.advance(this.#notBefore);
  }

  #endIfUnused(): void {
    if (this.#listeners.size > 0) return;
    this.#again.clear();
    if (!(this.#current?.confirmed || this.#endBefore)) return;
    if (this.#store.subscribesFreely) this.#retire();
    else this.#linger.set(now() + LINGER);
  }

  // Waiters that are to ask, as a message may have been missed.

  /** Whether this waiter may have been granted, without a message, since a command sent at `sentAt`: only the first of its queue. */
  mayHaveMissed(listener: Listener, sentAt: number): boolean {
    this.#confirmedAt = Math.min(this.#confirmedAt, now()); // else, when a replaced clock that was ahead is gone, without end
    if (this.#confirmedAt <= sentAt) return false;
    // Seldom a long search: most answers come in order, so one before it is found soon.
    for (const other of this.#queues.get(listener.queue) ?? []) if (rank(other) < rank(listener)) return false;
    return true;
  }

  /** Asks for the first waiter of a queue: one before it was granted, and the message was missed. */
  askNext(queue: string): void {
    let first: Listener | undefined;
    for (const one of this.#queues.get(queue) ?? []) {
      if (first === undefined || rank(one) < rank(first)) first = one;
    }
    first?.ask();
  }

  /** The first `count` waiters of each queue ask at once, and the others within `restWithin` ms, if it is set. */
  #askFirst(count: number, restWithin?: number): void {
    const asked = new Map<string, number>();
    for (const listener of [...this.#listeners.values()].sort((a, b) => rank(a) - rank(b))) {
      const before = asked.get(listener.queue) ?? 0;
      asked.set(listener.queue, before + 1);
      if (before < count) listener.ask();
      else if (restWithin !== undefined) listener.ask(restWithin);
    }
  }

  // From its start to its end.

  /**
   * The server does not know this subscription, which then sits on another server: begins again. In a cluster no node knows
   * all subscribers.
   */
  restart(): void {
    if (this.#store.cluster || !this.#current?.confirmed || this.#current.lost || now() < this.#notBefore) return;
    this.#end();
    this.#start();
  }

  /** The client is closed: no message comes any more. The adapter closes the connections that it opened. */
  #close(): void {
    this.#linger.clear();
    this.#again.clear();
    this.#current = undefined;
    this.#askFirst(Infinity);
  }

  #start(): void {
    this.#again.clear();
    const mine: Attempt = this.#current = {
      confirmed: false,
      until: now() + SINGLE_COMMAND * 2 ** this.#unconfirmed,
      lost: false,
      stop: undefined,
    };
    this.#notBefore = now() + SUBSCRIPTIONS_APART;
    const listener: PushListener = {
      receive: (push) => this.#receive(push),
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
    this.#unconfirmed = 0;
    this.#stopBefore();
    this.#confirmedAt = now();
    // A hand-off may have come before: to the first of a queue, as the ones behind it are granted later.
    this.#askFirst(1);
    this.#endIfUnused();
  }

  #failed(mine: Attempt, error: unknown): void {
    if (mine !== this.#current) return;
    this.#current = undefined; // the next waiter tries again
    this.#failure = error;
    this.#never = codeOf(error) !== "" && !this.#store.mayPass(error);
    if (this.#never && !this.#store.closed) this.#store.warnSlow(`SUBSCRIBE (${messageOf(error)})`);
  }

  #receive(push: Push): void {
    const listener = this.#listeners.get(push.id);
    if (push.kind === "granted") listener?.granted(push.fence);
    else listener?.ask();
  }

  /** Messages come again. */
  #resumed(mine: Attempt): void {
    if (mine !== this.#current) return;
    mine.lost = false;
    this.#askFirst(FIRST, GAP_SPREAD);
  }

  #lost(mine: Attempt, forGood: boolean): void {
    if (mine !== this.#current || (mine.lost && !forGood)) return;
    mine.lost = true;
    if (forGood) {
      this.#stopBefore();
      this.#endBefore = mine.stop;
      this.#current = undefined;
      if (this.#listeners.size === 0) this.#end();
    }
    this.#askFirst(FIRST, GAP_SPREAD); // which begins the next one, once the server has answered
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
