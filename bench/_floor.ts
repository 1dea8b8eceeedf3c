/**
 * Floors: the least that does the job, from promises and a list. No errors, no cancellation, no limits. The distance of a
 * complete primitive to its floor is the room for improvement.
 */

import { Items } from "../lib/queue.ts";

class BareGuard {
  resolve!: (guard: BareGuard) => void;
  #from: BareSemaphore | undefined;

  constructor(from: BareSemaphore) {
    this.#from = from;
  }

  release(): void {
    this.#from?.next();
    this.#from = undefined;
  }
}

export class BareSemaphore {
  #value: number;
  readonly #waiters = new Items<BareGuard>();

  constructor(value: number) {
    this.#value = value;
  }

  acquire(): Promise<BareGuard> {
    const guard = new BareGuard(this);
    if (this.#value === 0) {
      this.#waiters.push(guard);
      return new Promise((resolve) => guard.resolve = resolve);
    }
    this.#value--;
    return Promise.resolve(guard);
  }

  tryAcquire(): BareGuard | undefined {
    return this.#value-- > 0 ? new BareGuard(this) : void this.#value++;
  }

  release(guard: BareGuard): void {
    guard.release();
  }

  next(): void {
    if (this.#waiters.size === 0) return void this.#value++;
    const guard = this.#waiters.shift();
    guard.resolve(guard);
  }

  async run<T>(fn: () => T | Promise<T>): Promise<T> {
    const guard = await this.acquire();
    try {
      return await fn();
    } finally {
      guard.release();
    }
  }
}

const DONE = Promise.resolve();

/** Items between puts and gets that wait. */
export class BareQueue {
  readonly #items = new Items<number>();
  readonly #getters = new Items<(item: number) => void>();
  readonly #putters = new Items<{ readonly item: number; readonly resolve: () => void }>();
  #free: number;

  constructor(capacity: number) {
    this.#free = capacity;
  }

  put(item: number): Promise<void> {
    if (this.#getters.size > 0) this.#getters.shift()(item);
    else if (this.#free === 0) return new Promise((resolve) => this.#putters.push({ item, resolve }));
    else this.#free--, this.#items.push(item);
    return DONE;
  }

  get(): Promise<number> {
    if (this.#items.size === 0) return new Promise((resolve) => this.#getters.push(resolve));
    const item = this.#items.shift();
    if (this.#putters.size === 0) return this.#free++, Promise.resolve(item);
    const putter = this.#putters.shift();
    this.#items.push(putter.item);
    putter.resolve();
    return Promise.resolve(item);
  }
}

/** A semaphore for each key; its entries are never removed. */
export class BareMutexes {
  readonly #mutexes = new Map<unknown, BareSemaphore>();

  at(key: unknown): BareSemaphore {
    let mutex = this.#mutexes.get(key);
    if (mutex === undefined) this.#mutexes.set(key, mutex = new BareSemaphore(1));
    return mutex;
  }
}

/** One promise that all waiters share. */
export class BareFlag {
  set!: () => void;
  readonly #isSet = new Promise<void>((resolve) => this.set = resolve);

  wait(): Promise<void> {
    return this.#isSet;
  }
}

/** As many loops over one list as functions may run at a time. */
export async function bareMap(
  list: readonly number[],
  fn: (n: number) => Promise<number>,
  atOnce: number,
): Promise<number[]> {
  const [results, entries]: [number[], Iterable<[number, number]>] = [[], list.entries()];
  const loop = async () => {
    for (const [at, item] of entries) results[at] = await fn(item);
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  return results;
}
