/**
 * The entries of a thing that is kept by key: one for each key that is held or waited for, and for no other. Invariants: an
 * entry is made for a call that holds it at once, and removes itself when it is free; none is made once all are closed.
 *
 * @module
 */
import { forKey, readMaxWaiting, readName } from "./check.ts";
import type { Hold } from "./hold.ts";
import { cancelQueues, type WaitQueue } from "./wait_queue.ts";
import { ClosedError } from "../errors.ts";
import type { MaxWaitingOptions } from "../types.ts";

/** One key, with its queue. */
interface Entry {
  readonly queue: WaitQueue<Hold, Hold>;
}

export abstract class Entries<K, E extends Entry> extends Map<K, E> {
  readonly name: string | undefined;
  readonly maxWaiting: number;
  closed = false;

  constructor(options: MaxWaitingOptions | undefined) {
    super();
    this.name = readName(options);
    this.maxWaiting = readMaxWaiting(options);
  }

  /** The noun of an entry: a lock, or a semaphore. */
  abstract get noun(): string;

  protected abstract make(key: K): E;

  /** The entry of a key, or a new one: then it is free, and the caller takes it at once. Throws if they are closed. */
  of(key: K): E {
    this.checkOpen(key);
    let entry = this.get(key);
    if (entry === undefined) this.set(key, entry = this.make(key));
    return entry;
  }

  waiting(key: K): number {
    return this.get(key)?.queue.size ?? 0;
  }

  operation(key: K): string {
    return forKey(`acquire ${this.noun}`, this.name, key);
  }

  /** Throws if they are closed. */
  checkOpen(key: K): void {
    if (this.closed) throw new ClosedError(`Cannot ${this.operation(key)}: ${this.noun} is closed`);
  }

  /** Closes all for good, and rejects those that wait, in order for each key. */
  cancel(reason: unknown): void {
    this.closed = true;
    cancelQueues(Array.from(this.values(), ({ queue }) => queue), reason);
  }
}
