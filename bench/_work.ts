/**
 * The workloads. Each contender imports a copy of this file with a query of its own, so that its calls are compiled for
 * it alone. Each workload checks that the work was done, and that no more than allowed were inside.
 */

/** A lock, or a lock for each key. */
export interface Locking {
  acquire(key: number): Promise<unknown>;
  release(held: never, key: number): void;
}

export interface Trying {
  tryAcquire(): { release(): void } | undefined;
}

/** Calls a function when it may run. */
export type Run = (fn: () => Promise<void>, key: number) => Promise<unknown>;

/** A lock by name over a server: acquires, and resolves to the function that releases. */
export type LeaseOf = (name: string) => Promise<() => Promise<unknown>>;

export interface Sides {
  read(): Promise<() => void>;
  write(): Promise<() => void>;
}

export interface Items {
  put(item: number): Promise<unknown>;
  get(): Promise<number>;
}

export interface Flag {
  wait(): Promise<unknown>;
  set(): unknown;
}

/** Tasks, and the turns that they have together. */
export interface Load {
  readonly tasks: number;
  readonly turns: number;
  /** Each task has one of them. Default: 1. */
  readonly keys?: number;
  /** How many may be inside. Default: 1. */
  readonly most?: number;
}

function check(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected}`);
}

function many<T>(count: number, fn: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => fn(index)));
}

/** Acquire, one turn of the microtasks, release. */
export async function contend(one: Locking, { tasks, turns, keys = 1, most = 1 }: Load): Promise<void> {
  const inside = new Int32Array(keys);
  let done = 0;
  await many(tasks, async (index) => {
    const key = index % keys;
    for (let i = turns / tasks; i > 0; i--) {
      const held = await one.acquire(key);
      if (++inside[key]! > most) throw new Error("too many inside");
      await Promise.resolve();
      inside[key]!--;
      done++;
      one.release(held as never, key);
    }
  });
  check(done, turns);
}

/** The same by a function. */
export async function contendByRun(run: Run, { tasks, turns, keys = 1, most = 1 }: Load): Promise<void> {
  const inside = new Int32Array(keys);
  let done = 0;
  await many(tasks, async (index) => {
    const key = index % keys;
    const fn = async () => {
      if (++inside[key]! > most) throw new Error("too many inside");
      await Promise.resolve();
      inside[key]!--;
      done++;
    };
    for (let i = turns / tasks; i > 0; i--) await run(fn, key);
  });
  check(done, turns);
}

/** The same over a server, for locks by name. */
export function lease(acquire: LeaseOf, load: Load): Promise<void> {
  return contendByRun(async (fn, key) => {
    const release = await acquire(`bench ${key}`);
    await fn();
    await release();
  }, load);
}

let key = 0;

/** One task that takes what is free; the same key comes again after a million. */
export async function alone(one: Locking, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) {
    key = (key + 1) % 1_000_000;
    one.release(await one.acquire(key) as never, key);
  }
}

/** The same without a promise. */
export async function tryAlone(lock: Trying, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) lock.tryAcquire()!.release();
  return await Promise.resolve();
}

/** Nine readers to one writer. */
export async function readAndWrite({ read, write }: Sides, { tasks, turns }: Load): Promise<void> {
  let [readers, writers, done] = [0, 0, 0];
  await many(tasks, async (index) => {
    const isWriter = index % 10 === 0;
    for (let i = turns / tasks; i > 0; i--) {
      const release = await (isWriter ? write() : read());
      if (writers > 0 || (isWriter && readers > 0)) throw new Error("too many inside");
      isWriter ? writers++ : readers++;
      await Promise.resolve();
      isWriter ? writers-- : readers--;
      done++;
      release();
    }
  });
  check(done, turns);
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

/** All calls are made at once. */
export async function calls(call: (n: number) => Promise<number>, count: number): Promise<void> {
  check(sum(await many(count, call)), count * (count - 1) / 2);
}

type MapAll = (list: readonly number[], fn: (n: number) => Promise<number>) => Promise<readonly number[]>;

/** A list of 0 to `count` - 1. */
export async function mapAll(map: MapAll, count: number): Promise<void> {
  const list = Array.from({ length: count }, (_, n) => n);
  check(sum(await map(list, (n) => Promise.resolve(n))), count * (count - 1) / 2);
}

/** One producer and one consumer, which wait for each other. */
export async function passItems(queue: Items, count: number): Promise<void> {
  const producing = (async () => {
    for (let item = 0; item < count; item++) await queue.put(item);
  })();
  for (let item = 0; item < count; item++) check(await queue.get(), item);
  await producing;
}

/** All calls of one side wait before the first of the other side comes. */
export async function waitForItems(queue: Items, count: number, first: "get" | "put"): Promise<void> {
  const get = () => Array.from({ length: count }, () => queue.get());
  const put = () => Array.from({ length: count }, (_, item) => queue.put(item));
  const [getting, putting] = first === "get" ? [get(), put()] : [undefined, put()];
  for (const [item, got] of (getting ?? get()).entries()) check(await got, item);
  await Promise.all(putting);
}

/** Many wait for one flag. */
export async function waitForFlag(make: () => Flag, waiters: number): Promise<void> {
  const flag = make();
  let done = 0;
  const all = many(waiters, async () => {
    await flag.wait();
    done++;
  });
  flag.set();
  await all;
  check(done, waiters);
}

/** Functions that may start at once. */
export async function starts(start: (fn: () => void, index: number) => Promise<unknown>, count: number): Promise<void> {
  let started = 0;
  await many(count, (index) => start(() => void started++, index));
  check(started, count);
}

/** Waiters that share `signals` signals, all of which are aborted. */
export async function cancel(
  wait: (signal: AbortSignal) => Promise<unknown>,
  waiters: number,
  signals: number,
): Promise<void> {
  let cancelled = 0;
  const controllers = Array.from({ length: signals }, () => new AbortController());
  const all = many(waiters, (index) => wait(controllers[index % signals]!.signal).catch(() => cancelled++));
  for (const controller of controllers) controller.abort();
  await all;
  check(cancelled, waiters);
}

/** Waits that end by their time. */
export async function timeOut(wait: () => Promise<unknown>, waiters: number): Promise<void> {
  let late = 0;
  await many(waiters, () => wait().catch(() => late++));
  check(late, waiters);
}
