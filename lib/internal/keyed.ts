/**
 * Entries by key. Invariants: exactly the keys that are held or waited for have an entry. An entry is created for a
 * call that takes it at once, and removes itself when it is free. None is created after closing.
 *
 * @module
 */
import { checkKey, type QueueOptions, readQueueOptions } from "./check.ts";
import { type Hold, runHolding } from "./hold.ts";
import { COPY, exposeState } from "./state.ts";
import { printAs } from "./show.ts";
import { closeQueues, type WaitQueue } from "./wait_queue.ts";
import { closedError, type WaitedFor } from "./waited_for.ts";
import { wrapFunction, type Wrapped } from "./wrap.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "../types.ts";

/** One key, with its queue. */
interface Entry extends WaitedFor {
  readonly queue: WaitQueue<Hold>;
}

export class Entries<K, E extends Entry> extends Map<K, E> {
  readonly options: QueueOptions;
  closed = false;
  /** Its parameter is `never`, so that a keyed class of strings is one of unknown keys, too. */
  readonly #make: (key: never) => E;

  constructor(options: MaxWaitingOptions | undefined, make: (key: K) => E) {
    super();
    this.#make = make;
    this.options = readQueueOptions(options);
  }

  /**
   * Returns the entry of a key or a new one. A new entry is free, and the caller must take it at once. Throws if
   * closed.
   */
  of(key: K): E {
    this.checkOpen(key);
    let entry = this.get(key);
    if (entry === undefined) this.set(key, entry = this.#make(key as never));
    return entry;
  }

  waiting(key: K): number {
    checkKey(key);
    return this.get(key)?.queue.size ?? 0;
  }

  /** Throws if closed. */
  checkOpen(key: K): void {
    if (this.closed) throw closedError(this.#make(key as never)); // an entry only to describe it
  }

  /** Closes all entries for good, and rejects their waiters, in order for each key. */
  close(reason: unknown): void {
    this.closed = true;
    closeQueues(Array.from(this.values(), ({ queue }) => queue), reason);
  }
}

/** A primitive that hands out holds by key. */
interface Keyed<K, O> {
  readonly name: string | undefined;
  readonly closed: boolean;
  locked(key: K): boolean;
  waiting(key: K): number;
  acquire(key: K, options?: O): Promise<Guard>;
  tryAcquire(key: K, permits?: number): Guard | undefined;
}

/** One key, for code that takes any Acquirable. It holds no entry, so it may be kept or created anew. */
export class Key<K, T extends Keyed<K, O>, O extends WaitOptions = WaitOptions> implements Acquirable<Guard, O> {
  readonly #keyed: T;
  readonly #key: K;

  static {
    exposeState(Key, (lock) => ({ owner: lock.#keyed, key: lock.#key, copy: COPY }));
    printAs(Key, "KeyedLock", ["name", "key", "locked", "waiting"]);
  }

  constructor(keyed: T, key: K) {
    checkKey(key);
    this.#keyed = keyed;
    this.#key = key;
  }

  get key(): K {
    return this.#key;
  }

  get name(): string | undefined {
    return this.#keyed.name;
  }

  /** Read by acquireAll. */
  get closed(): boolean {
    return this.#keyed.closed;
  }

  get locked(): boolean {
    return this.#keyed.locked(this.#key);
  }

  get waiting(): number {
    return this.#keyed.waiting(this.#key);
  }

  acquire(options?: O): Promise<Guard> {
    return this.#keyed.acquire(this.#key, options);
  }

  tryAcquire(permits?: number): Guard | undefined {
    return this.#keyed.tryAcquire(this.#key, permits);
  }

  run<R>(fn: (guard: Guard) => R | PromiseLike<R>, options?: O): Promise<R> {
    return runHolding(this, fn, options);
  }

  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): Wrapped<T, A, R> {
    return wrapFunction(fn, (call) => this.run(call));
  }
}
