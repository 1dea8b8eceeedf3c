/**
 * The waiters of a process that the server can notify. Of those of one queue only the first by their places can have been
 * granted without a message. Their answers may come in another order: a script that the server does not know is sent again.
 *
 * @module
 */

import { GAP_SPREAD } from "../times.ts";
import type { Push } from "../store/store.ts";

/** A waiter, to be notified. */
export interface Listener {
  /** The waiter's queue: the first waiters of each are the only ones that can have been granted. */
  readonly queue: string;
  /** Its place there, smaller the earlier it joined; 0 before the first answer. */
  readonly place: number;
  /** Granted at this server time. */
  granted(fence: number, serverTime: number): void;
  /** A lease ahead of it ends at `at` by the server's clock. */
  leaseEnds(at: number, serverTime: number): void;
  /** A message may have been missed: ask, at a random moment within `ms`, or at once. */
  ask(ms?: number): void;
}

/** Waiters of one queue that ask at once when messages may have been missed. */
const FIRST = 3;

/** Those without an answer come last: their commands are in flight, and find out. */
function rank({ place }: Listener): number {
  return place || Number.MAX_VALUE;
}

/** The waiters by their ids. */
export class Listeners {
  readonly #byId = new Map<string, Listener>();

  get size(): number {
    return this.#byId.size;
  }

  /** Adds a waiter, unless it is known. */
  add(id: string, listener: Listener): void {
    this.#byId.set(id, listener);
  }

  /** Returns whether the id was known. */
  delete(id: string): boolean {
    return this.#byId.size > 0 && this.#byId.delete(id); // finding out that a fresh id is not there takes time, too
  }

  /** The first waiter of a queue. */
  firstOf(queue: string): Listener | undefined {
    let first: Listener | undefined;
    for (const one of this.#byId.values()) {
      if (one.queue === queue && (first === undefined || rank(one) < rank(first))) first = one;
    }
    return first;
  }

  /** Whether it is the first of its queue. Seldom a long search: most answers come in order, so one before it is found soon. */
  isFirst(one: Listener): boolean {
    for (const other of this.#byId.values()) {
      if (other.queue === one.queue && rank(other) < rank(one)) return false;
    }
    return true;
  }

  /** Passes a message of the server on to its waiter. */
  receive(push: Exclude<Push, { kind: "revoked" }>): void {
    const listener = this.#byId.get(push.id);
    if (push.kind === "granted") listener?.granted(push.fence, push.serverTime);
    else listener?.leaseEnds(push.at, push.serverTime);
  }

  /** All waiters ask: the first of each queue at once, the others spread over a while, so that there is no storm. */
  askAll(): void {
    this.askFirst(FIRST, GAP_SPREAD);
  }

  /** The first `count` waiters of each queue ask at once, and the others within `restWithin` ms, if it is set. */
  askFirst(count: number, restWithin?: number): void {
    const asked = new Map<string, number>();
    for (const listener of [...this.#byId.values()].sort((a, b) => rank(a) - rank(b))) {
      const before = asked.get(listener.queue) ?? 0;
      asked.set(listener.queue, before + 1);
      if (before < count) listener.ask();
      else if (restWithin !== undefined) listener.ask(restWithin);
    }
  }
}
