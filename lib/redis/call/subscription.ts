/**
 * The subscription of a client and prefix, from its start to its end, and the waiters of this process that it can
 * notify. Invariants: one subscription at a time, and none counts before the server has confirmed it; it ends shortly
 * after the last waiter has gone.
 *
 * Only the first waiters of each queue can have been granted without a message: those that have waited longest here.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { exposeState } from "../../internal/state.ts";
import { Timer } from "../../internal/timer.ts";
import { codeOf, messageOf } from "../errors.ts";
import type { Store, Unsubscribe } from "../store/store.ts";
import { GAP_SPREAD, LINGER, LONGEST_COMMAND, now, RESUBSCRIBE_AFTER, UNSUBSCRIBED_AFTER } from "../times.ts";

/** A waiter to notify. */
export interface Listener {
  /** The waiter's queue. */
  readonly queue: string;
  granted(fence: number): void;
  /** Called when it has become the first waiter of its queue, which asks at the end of a life. */
  reschedule(): void;
  /** Asks the server, at once or at a random moment within `ms`, because a message may have been missed. */
  checkTurn(withinMs?: number): void;
}

/**
 * The number of waiters per queue that ask at once after a gap in messages. The rest follow later, to avoid a storm.
 */
const ASK_AT_ONCE = 3;

export class Subscription {
  readonly #store: Store;
  readonly #prefix: string;
  /** The waiters by their ids. */
  readonly #listeners = new Map<string, Listener>();
  /** The waiters by their queues, in the order of their arrival. */
  readonly #queues = new Map<string, Set<Listener>>();
  /** Whether the server or the client does not allow subscriptions, or the client is closed. */
  #isUnavailable: boolean;
  /**
   * The present one. An unconfirmed one is given time until then, and afterwards its connection counts as half-open; a
   * confirmed one has `stop`.
   */
  #attempt: { readonly until: number; stop?: Unsubscribe } | undefined;
  /** How often messages have begun or resumed: an answer to an earlier command may show none of those missed. */
  gaps = 0;
  /**
   * The number of unconfirmed attempts in a row. Each may keep a connection, so each gets twice the time of the one
   * before.
   */
  #unconfirmed = 0;
  /** The time since which messages are to arrive but cannot; Infinity while they can. */
  #unsubscribedSince = Infinity;
  /** When the server has answered although messages should have arrived for long. */
  #overdueAt = Infinity;
  /** Why the last attempt failed, and when the next one may begin. */
  #failure: unknown;
  #notBefore = -Infinity;
  readonly #linger = new Timer(() => {
    this.#end();
    this.#noteWorking();
  });

  static {
    exposeState(Subscription, (one) => [one.#listeners, one.#queues, one.#linger]);
  }

  constructor(store: Store, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
    this.#isUnavailable = store.subscribe === undefined;
    onCancel({ signal: store.closing }, () => {
      this.#isUnavailable = true;
      this.#linger.clear();
      this.#attempt = undefined; // the adapter closes the connections that it opened
      this.#checkTurns(Infinity);
    });
  }

  /** Whether there is a subscription. A connection that is down resumes, or the server does not know it. */
  get live(): boolean {
    return this.#attempt?.stop !== undefined;
  }

  /** Adds a waiter. Also called after each answer that it still waits, to restart an ended subscription. */
  add(id: string, listener: Listener): void {
    this.#linger.clear();
    this.#listeners.set(id, listener);
    const queue = this.#queues.get(listener.queue);
    if (queue === undefined) this.#queues.set(listener.queue, new Set([listener]));
    else queue.add(listener);
    this.#begin();
    this.#warnIfUnsubscribed(listener.queue);
  }

  /** Called while the server answers, so that nothing else shows why hand-offs are slow. */
  #warnIfUnsubscribed(queue: string): void {
    const time = now();
    if (time - this.#unsubscribedSince < UNSUBSCRIBED_AFTER) return;
    const isCertain = this.#failure !== undefined || time - this.#overdueAt >= RESUBSCRIBE_AFTER;
    if (isCertain) this.#store.warnUnsubscribed?.(this.#failure);
    // After a busy moment, the confirmation may have arrived unread: a waiter asks again, and its answer is the proof.
    else if (this.#overdueAt === Infinity) new Timer(() => this.checkFirstOf(queue)).set(time + RESUBSCRIBE_AFTER);
    this.#overdueAt = Math.min(this.#overdueAt, time);
  }

  /** Called when messages can arrive, or need not: there is nothing to warn of. */
  #noteWorking(): void {
    this.#unsubscribedSince = this.#overdueAt = Infinity;
    this.#failure = undefined;
  }

  delete(id: string): void {
    // Skips the lookup if there are no listeners: even a failed lookup of a fresh id takes time.
    const listener = this.#listeners.size === 0 ? undefined : this.#listeners.get(id);
    if (listener === undefined) return;
    this.#listeners.delete(id);
    const wasFirst = this.isFirst(listener);
    const queue = this.#queues.get(listener.queue)!;
    queue.delete(listener);
    const [next] = queue;
    if (next === undefined) this.#queues.delete(listener.queue);
    else if (wasFirst) next.reschedule();
    this.#endIfUnused();
  }

  /** Whether this waiter is the first of its queue, which asks for all at the end of a life. */
  isFirst(listener: Listener): boolean {
    return this.#firstOf(listener.queue) === listener;
  }

  #firstOf(queue: string): Listener | undefined {
    return this.#queues.get(queue)?.values().next().value;
  }

  /** Lets the first waiter of a queue ask: a waiter ahead of it was granted, and the message was missed. */
  checkFirstOf(queue: string): void {
    this.#firstOf(queue)?.checkTurn();
  }

  /** Lets the `first` waiters of each queue ask at once, and the rest soon. */
  #checkTurns(first = ASK_AT_ONCE): void {
    for (const queue of this.#queues.values()) {
      [...queue].forEach((listener, i) => listener.checkTurn(i < first ? undefined : GAP_SPREAD));
    }
  }

  // From its start to its end.

  #begin(): void {
    if (this.#attempt !== undefined || this.#isUnavailable || now() < this.#notBefore) return;
    const attempt = this.#attempt = { until: now() + LONGEST_COMMAND * 2 ** this.#unconfirmed };
    this.#unsubscribedSince = Math.min(this.#unsubscribedSince, now());
    const listener = {
      receive: (id: string, fence: number) => this.#listeners.get(id)?.granted(fence),
      resumed: () => this.#resumed(attempt),
      ended: () => this.#ended(attempt),
    };
    this.#store.subscribe!(listener, this.#prefix).then(
      (stop) => this.#started(attempt, stop),
      (error) => this.#failed(attempt, error),
    );
  }

  #started(attempt: object, stop: Unsubscribe): void {
    if (attempt !== this.#attempt) return void stopQuietly(stop);
    this.#attempt.stop = stop;
    this.#unconfirmed = 0;
    this.#noteWorking();
    this.gaps++;
    // A hand-off may have come before the confirmation, but only to the first waiter of a queue.
    for (const queue of this.#queues.keys()) this.checkFirstOf(queue);
    this.#endIfUnused();
  }

  #failed(attempt: object, error: unknown): void {
    if (attempt !== this.#attempt) return;
    this.#attempt = undefined; // the next waiter tries again
    this.#failure = error;
    this.#notBefore = now() + RESUBSCRIBE_AFTER;
    this.#isUnavailable = codeOf(error) !== "" && !this.#store.mayPass?.(error);
    if (!this.#isUnavailable) return;
    this.#unsubscribedSince = Infinity;
    if (!this.#store.backend.closed) this.#store.warnSlow?.(`SUBSCRIBE (${messageOf(error)})`);
  }

  /** Called when messages have resumed. */
  #resumed(attempt: object): void {
    if (attempt !== this.#attempt) return;
    this.gaps++;
    this.#checkTurns();
  }

  #ended(attempt: object): void {
    if (attempt !== this.#attempt) return;
    this.#end();
    this.#checkTurns(); // begins the next subscription once the server has answered
  }

  /**
   * Called when the server does not know this subscription: it is on another server, or half-open. It then begins
   * again. Not in a cluster, where no node knows all subscribers.
   */
  restart(): void {
    const attempt = this.#attempt;
    if (attempt === undefined || this.#store.backend.cluster || (!this.live && now() <= attempt.until)) return;
    if (!this.live) this.#unconfirmed++;
    this.#end();
    this.#begin();
  }

  #endIfUnused(): void {
    if (this.#listeners.size === 0 && this.live) this.#linger.set(now() + LINGER);
  }

  #end(): void {
    const stop = this.#attempt?.stop;
    this.#attempt = undefined;
    void stopQuietly(stop);
  }
}

/** Calls `stop`, which fails only if the connection is gone. */
async function stopQuietly(stop: Unsubscribe | undefined): Promise<void> {
  try {
    await stop?.();
  } catch { /* see above */ }
}
