/**
 * The subscription of a client and prefix, from its start to its end, and the waiters of this process that it can
 * notify. Invariants: one subscription at a time, and none counts before the server has confirmed it; it ends shortly
 * after the last waiter has gone.
 *
 * Only the first waiters of each queue, by position, can have been granted without a message. Answers may arrive in
 * another order, because a script that the server does not know is sent again.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { codeOf, messageOf } from "../errors.ts";
import type { Push, PushListener, Store, Unsubscribe } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { assertRules } from "../sound.ts";
import { DEAF_AFTER, GAP_SPREAD, LINGER, now, SINGLE_COMMAND, SUBSCRIPTIONS_APART } from "../times.ts";

/** A waiter to notify. */
export interface Listener {
  /** The waiter's queue. */
  readonly queue: string;
  /** Its position in the queue; 0 before the first answer. */
  readonly position: number;
  /** Throws unless it waits; for tests. */
  assertSound(): void;
  granted(fence: number): void;
  /** Called when it may have become the waiter of its queue that asks at the end of a life. */
  lead(): void;
  /** Asks the server, at once or at a random moment within `ms`, because a message may have been missed. */
  checkTurn(withinMs?: number): void;
}

/**
 * The number of waiters per queue that ask at once after a gap in messages. The rest follow later, to avoid a storm.
 */
const FIRST = 3;

/** Waiters without an answer rank last: their commands are in flight, and will show a grant. */
function rank({ position }: Listener): number {
  return position || Number.MAX_VALUE;
}

/** One subscription, from its request to its end. */
interface Attempt {
  /** Local time; undefined before. */
  confirmedAt: number | undefined;
  /** Until then the server's answers may overtake the confirmation. Afterwards the connection counts as half-open. */
  readonly until: number;
  stop: Unsubscribe | undefined;
}

export class Subscription {
  readonly #store: Store;
  readonly #prefix: string;
  /** The waiters by their ids. */
  readonly #listeners = new Map<string, Listener>();
  /** The waiters by their queues. */
  readonly #queues = new Map<string, Set<Listener>>();
  /** Whether the server or the client does not allow subscriptions. */
  #never: boolean;
  #current: Attempt | undefined;
  /**
   * The number of unconfirmed attempts in a row. Each may keep a connection, so each gets twice the time of the one
   * before.
   */
  #unconfirmed = 0;
  /** The time since which the server answers but messages cannot arrive; undefined while they can. */
  #deafSince: number | undefined;
  /** Why the last attempt failed. */
  #failure: unknown;
  #notBefore = -Infinity;
  readonly #linger = new LocalTimer(() => this.#retire());
  /** Set while an attempt is delayed until `#notBefore`: the next heartbeat may be far away. */
  readonly #again = new LocalTimer((time) => this.#begin(time));

  constructor(store: Store, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
    this.#never = store.subscribe === undefined;
    onCancel({ signal: store.closing }, () => this.#close());
  }

  /** Whether there is a subscription. A connection that is down resumes, or the server does not know it. */
  get live(): boolean {
    return this.#current?.confirmedAt !== undefined;
  }

  /** Adds a waiter. Also called after each answer that it still waits, to restart an ended subscription. */
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

  /** Warns, after an answer of the server, if messages cannot arrive: nothing else shows why hand-offs are slow. */
  #noteIfDeaf(): void {
    if (this.live || this.#never) return void (this.#deafSince = undefined);
    this.#deafSince ??= now();
    if (now() - this.#deafSince >= DEAF_AFTER) this.#store.warnDeaf(this.#failure);
  }

  delete(id: string): void {
    // Skips the lookup if there are no listeners: even a failed lookup of a fresh id takes time.
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

  /** Whether this waiter asks for its whole queue at the end of a life. */
  isLeader(listener: Listener): boolean {
    const [first] = this.#queues.get(listener.queue) ?? [];
    return first === listener;
  }

  /**
   * Whether the subscription was not confirmed in time. Called after an answer of the server, so the obstacle is the
   * subscribing connection; in a cluster both may share a connection.
   */
  #isOverdue(): boolean {
    const current = this.#current;
    return current !== undefined && !this.live && now() > current.until && !this.#store.cluster;
  }

  #begin(time = now()): void {
    if (this.#current !== undefined || this.#never) return;
    if (time >= this.#notBefore) this.#start();
    else this.#again.advance(this.#notBefore);
  }

  #endIfUnused(): void {
    if (this.#listeners.size > 0) return;
    this.#again.clear();
    if (this.live) this.#linger.set(now() + LINGER);
  }

  // Waiters that are to ask, as a message may have been missed.

  /**
   * Whether this waiter may have been granted without a message since a command sent at `sentAt`. Only the first of its
   * queue can be.
   */
  mayHaveMissed(listener: Listener, sentAt: number): boolean {
    const current = this.#current;
    if (current?.confirmedAt === undefined) return false; // the confirmation lets the first one ask
    current.confirmedAt = Math.min(current.confirmedAt, now()); // else endless once a fake clock is removed
    if (current.confirmedAt <= sentAt) return false;
    // Seldom a long search: answers mostly come in order, so an earlier waiter is found soon.
    for (const other of this.#queues.get(listener.queue) ?? []) if (rank(other) < rank(listener)) return false;
    return true;
  }

  /** Lets the first waiter of a queue ask: a waiter ahead of it was granted, and the message was missed. */
  checkFirstOf(queue: string): void {
    let first: Listener | undefined;
    for (const one of this.#queues.get(queue) ?? []) {
      if (first === undefined || rank(one) < rank(first)) first = one;
    }
    first?.checkTurn();
  }

  /** Lets the first `count` waiters of each queue ask at once, and the rest within `restWithin` ms if it is set. */
  #checkTurns(count: number, restWithin?: number): void {
    const asked = new Map<string, number>();
    for (const listener of [...this.#listeners.values()].sort((a, b) => rank(a) - rank(b))) {
      const before = asked.get(listener.queue) ?? 0;
      asked.set(listener.queue, before + 1);
      if (before < count) listener.checkTurn();
      else if (restWithin !== undefined) listener.checkTurn(restWithin);
    }
  }

  // From its start to its end.

  /**
   * Begins again if the server does not know this subscription, which is then on another server. Not in a cluster,
   * where no node knows all subscribers.
   */
  restart(): void {
    if (this.#store.cluster || !this.live || now() < this.#notBefore) return;
    this.#end();
    this.#start();
  }

  /** Ends the subscription with its client. The adapter closes the connections that it opened. */
  #close(): void {
    this.#linger.clear();
    this.#again.clear();
    this.#current = undefined;
    this.#checkTurns(Infinity);
  }

  #start(): void {
    this.#again.clear();
    const mine: Attempt = this.#current = {
      confirmedAt: undefined,
      until: now() + SINGLE_COMMAND * 2 ** this.#unconfirmed,
      stop: undefined,
    };
    this.#notBefore = now() + SUBSCRIPTIONS_APART;
    const listener: PushListener = {
      receive: (push) => this.#receive(push),
      resumed: () => this.#resumed(mine),
      ended: () => this.#ended(mine),
    };
    const subscribe = async () => await this.#store.subscribe?.(listener, this.#prefix);
    subscribe().then((stop) => this.#started(mine, stop), (error) => this.#failed(mine, error));
  }

  #started(mine: Attempt, stop: Unsubscribe | undefined): void {
    if (mine !== this.#current) return void ignoreErrors(stop);
    mine.stop = stop;
    mine.confirmedAt = now();
    this.#unconfirmed = 0;
    // A hand-off may have come before the confirmation, but only to the first waiter of a queue.
    this.#checkTurns(1);
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
    else listener?.checkTurn();
  }

  /** Called when messages have resumed. */
  #resumed(mine: Attempt): void {
    if (mine === this.#current) this.#checkTurns(FIRST, GAP_SPREAD);
  }

  #ended(mine: Attempt): void {
    if (mine !== this.#current) return;
    this.#end();
    this.#checkTurns(FIRST, GAP_SPREAD); // begins the next subscription once the server has answered
  }

  /** Ends a subscription that is no longer needed. It has not failed, so the next one may begin at once. */
  #retire(): void {
    this.#end();
    this.#notBefore = -Infinity;
  }

  #end(): void {
    const stop = this.#current?.stop;
    this.#current = undefined;
    void ignoreErrors(stop);
  }

  /** Throws unless the invariants hold; for tests. */
  assertSound(): void {
    const queues = [...this.#queues.values()];
    const isUsed = this.#listeners.size > 0;
    for (const listener of this.#listeners.values()) listener.assertSound();
    assertRules("subscription", {
      "the queues": queues.reduce((sum, { size }) => sum + size, 0) === this.#listeners.size,
      "an empty queue": queues.every(({ size }) => size > 0),
      "it lingers with waiters": !isUsed || this.#linger.at === Infinity,
      "it begins without waiters": isUsed || this.#again.at === Infinity,
      "it is live without a subscription": !this.live || this.#current?.stop !== undefined,
    });
  }
}

/** Ending a subscription fails only if its connection is gone. */
async function ignoreErrors(stop: Unsubscribe | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
