/**
 * Floors: the least that does the job, from promises and a list. No errors, no cancellation, no limits. The distance of a
 * complete primitive to its floor is the room for improvement.
 */

/** First in, first out; taken items leave their places behind until it is empty. */
class Line<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#items[this.#first++] = undefined;
    if (this.#first === this.#items.length) [this.#items, this.#first] = [[], 0];
    return item;
  }
}

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
  readonly #waiters = new Line<BareGuard>();

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
    const guard = this.#waiters.shift();
    if (guard === undefined) this.#value++;
    else guard.resolve(guard);
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

export class BareCondition extends BareSemaphore {
  readonly #notified = new Line<() => void>();

  constructor() {
    super(1);
  }

  async waitFor(predicate: () => boolean): Promise<void> {
    while (!predicate()) {
      const notified = new Promise<void>((resolve) => this.#notified.push(resolve));
      this.next();
      await notified;
      await this.acquire(); // the guard of `run` releases it
    }
  }

  notify(): void {
    this.#notified.shift()?.();
  }
}

const DONE = Promise.resolve();

/** Items between puts and gets that wait. */
export class BareQueue {
  readonly #items = new Line<number>();
  readonly #getters = new Line<(item: number) => void>();
  readonly #putters = new Line<{ readonly item: number; readonly resolve: () => void }>();
  #free: number;

  constructor(capacity: number) {
    this.#free = capacity;
  }

  put(item: number): Promise<void> {
    const getter = this.#getters.shift();
    if (getter === undefined && this.#free === 0) {
      return new Promise((resolve) => this.#putters.push({ item, resolve }));
    }
    if (getter !== undefined) getter(item);
    else this.#free--, this.#items.push(item);
    return DONE;
  }

  get(): Promise<number> {
    const item = this.#items.shift();
    if (item === undefined) return new Promise((resolve) => this.#getters.push(resolve));
    const putter = this.#putters.shift();
    if (putter === undefined) this.#free++;
    else this.#items.push(putter.item), putter.resolve();
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
