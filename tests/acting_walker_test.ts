/**
 * Random walks in which everything that is called back acts: observers, and every member of foreign signals. They abort,
 * release, acquire, set, cancel and let time pass, in the middle of whatever the walk does. After each step the invariants
 * of all things hold, and at the end each call has ended exactly once and nothing is left behind.
 */
import assert from "node:assert/strict";
import {
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  type Guard,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  SingleFlight,
  type WaitOptions,
  type WriterGuard,
} from "../mod.ts";
import { ActingWalk, walkActing } from "./_acting_walk.ts";
import { assertSound } from "./sound/mod.ts";
import { test } from "./_test.ts";
import { type FakeTime, flushMicrotasks, type Random } from "./_tools.ts";

class Walk extends ActingWalk {
  readonly lock = new Lock({ maxWaiting: 8 });
  readonly condition = new Condition(this.lock);
  readonly semaphore = new Semaphore(2);
  readonly bounded = new BoundedSemaphore(2, { maxWaiting: 5 });
  readonly table = new RwLock();
  readonly keys = new KeyedMutex<number>();
  readonly event = new Event();
  readonly members = new SetEvent<number>();
  readonly barrier = new Barrier(3);
  readonly rate = new RateLimiter(2, 20);
  readonly pool = new Pool(2, { rate: this.rate });
  readonly permits = new KeyedSemaphore<number>(2, { maxWaiting: 8 });
  readonly rates = new KeyedRateLimiter<number>(2, 20);
  readonly items = new Queue<number>(2);
  readonly flights = new SingleFlight<number>();
  /** Settle the functions that run for a SingleFlight. */
  readonly flying: ((fails: boolean) => void)[] = [];
  readonly #acts: Readonly<Record<string, readonly (() => void)[]>> = this.#actsOfThings();
  /** The few things of which this walk makes use: with all of them, hardly two calls would meet. */
  readonly #themes: readonly string[];

  constructor(random: Random, time: FakeTime) {
    super(random, time);
    this.#themes = [1, 2, 3].map(() => random.pick(Object.keys(this.#acts)));
  }

  #actsOfThings(): Record<string, (() => void)[]> {
    const { lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool } = this;
    const { permits, rates, items, flights } = this;
    const below = (end: number) => this.random.below(end);
    const either = (one: () => void, other: () => void) => () => below(2) === 0 ? one() : other();
    return {
      lock: [
        () => this.#call((options) => lock.acquire(options)),
        () => this.#keep(lock.tryAcquire()),
        () => void (lock.locked && this.#call((options) => condition.wait(options))),
        () => void (lock.locked && this.#quietly(() => condition.notify(2))),
      ],
      semaphore: [
        () => this.#call((options) => semaphore.acquire({ ...options, permits: 1 + below(2) })),
        () => this.#keep(semaphore.tryAcquire()),
      ],
      bounded: [
        () => this.#call((options) => bounded.acquire(options)),
        () => bounded.limit = below(4),
      ],
      table: [
        () => this.#call((options) => table.reader.acquire(options)),
        () => this.#call((options) => table.writer.acquire(options)),
        either(() => this.#keep(table.reader.tryAcquire()), () => this.#keep(table.writer.tryAcquire())),
        () => this.#downgrade(),
      ],
      keys: [
        () => this.#call((options) => keys.acquire(below(2), options)),
        () => this.#keep(keys.tryAcquire(0)),
      ],
      event: [
        () => this.#call((options) => event.wait(options)),
        () => this.#call((options) => event.wait(options)),
        either(() => event.set(), () => event.clear()),
      ],
      members: [
        () => this.#call((options) => members.wait(options)),
        () => this.#call((options) => members.wait(options)),
        either(() => members.add(1), () => members.delete(1)),
      ],
      barrier: [
        () => this.#call((options) => barrier.wait(options)),
        () => void (below(4) === 0 && barrier.reset()),
      ],
      rate: [() => this.#call((options) => rate.acquire(options))],
      pool: [
        () => this.#call((options) => pool.run(() => {}, { ...options, priority: below(3) })),
        () => this.#call((options) => pool.run(() => {}, { ...options, priority: below(3) })),
        () => pool.limit = below(3),
      ],
      permits: [
        () => this.#call((options) => permits.acquire(below(2), { ...options, permits: 1 + below(2) })),
        () => this.#keep(permits.tryAcquire(0)),
      ],
      rates: [() => this.#call((options) => rates.acquire(below(2), options))],
      items: [
        () => this.#call((options) => items.put(1, options)),
        () => this.#call((options) => items.get(options)),
        either(() => void items.tryPut(2), () => void items.tryGet()),
      ],
      flights: [
        () => this.#call((options) => this.#fly(options)),
        () => this.#call((options) => this.#fly(options)),
        either(() => this.#take(this.flying)?.(below(3) === 0), () => flights.forget(below(2))),
      ],
    };
  }

  #take<T>(list: T[]): T | undefined {
    return list.splice(this.random.below(list.length || 1), 1)[0];
  }

  #keep(guard: Guard | undefined): void {
    if (guard !== undefined) this.held.push(guard);
  }

  get things(): object[] {
    const { lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool } = this;
    const { permits, rates, items, flights } = this;
    return [lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool].concat(
      [permits, rates, items, flights] as never[],
    );
  }

  override act(): void {
    const { random } = this;
    if (random.below(3) > 0) random.pick(this.#acts[random.pick(this.#themes)]!)();
    else this.common();
  }

  /** Shares a run that ends when it is told to, or when all of its callers have gone. */
  #fly(options?: WaitOptions): Promise<unknown> {
    return this.flights.run(this.random.below(2), (signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        this.flying.push((fails) => fails ? reject("failed") : resolve("done"));
      }), options);
  }

  #quietly(fn: () => void): void {
    try {
      fn();
    } catch { /* not held for the moment in which it is released */ }
  }

  #call(fn: (options?: WaitOptions) => Promise<unknown>): void {
    this.call(`${fn}`, fn);
  }

  #downgrade(): void {
    const writer = (this.held as Partial<WriterGuard>[]).find((guard) => guard.held && "downgrade" in guard);
    if (writer !== undefined) this.held.push(writer.downgrade!());
  }

  override check(): void {
    for (const thing of this.things) {
      const { waiting, value } = thing as { waiting?: unknown; value?: unknown }; // with keys, functions
      for (const count of [waiting, value]) assert.ok(typeof count !== "number" || count >= 0, "never negative");
      assertSound(thing);
    }
  }

  /** Closes and releases everything: no call is left. */
  override async end(): Promise<void> {
    const { lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool } = this;
    const { permits, rates, items, flights, flying } = this;
    this.calmDown();
    bounded.limit = 2;
    pool.limit = 2;
    members.delete(1);
    event.set();
    barrier.abort();
    for (const one of [condition, semaphore, bounded, table, keys, event, permits, items]) one.cancel("over");
    lock.cancel("over");
    for (let round = 0; round < 20; round++) {
      await flushMicrotasks();
      for (const guard of this.held.splice(0)) guard.release();
      for (const settle of flying.splice(0)) settle(false);
      this.time.advance(50);
    }
    rate.cancel("over");
    pool.cancel("over");
    await flushMicrotasks();
    this.check();
    assert.deepEqual(this.pending, [], "these calls never end");
    const left = {
      lock: lock.locked,
      reader: table.reader.locked,
      writer: table.writer.locked,
      semaphore: semaphore.value,
      bounded: bounded.value,
      keys: keys.size,
      pool: pool.active,
      permits: permits.size,
      rates: rates.size,
      items: items.size + items.getting + items.putting,
      flights: flights.size,
    };
    const none = { lock: false, reader: false, writer: false, keys: 0, pool: 0, permits: 0, rates: 0, items: 0 };
    assert.deepEqual(left, { ...none, flights: 0, semaphore: 2, bounded: 2 });
    await pool.join();
  }
}

test(`walk: observers that act: sound after each step, and every call ends`, () =>
  walkActing(100, 150, (random, time) => new Walk(random, time)));
