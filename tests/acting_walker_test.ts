/**
 * Random walks in which everything that is called back acts: observers, and every member of foreign signals. They abort,
 * release, acquire, set, cancel and let time pass, in the middle of whatever the walk does. After each step the invariants
 * of all things hold, and at the end each call has ended exactly once and nothing is left behind.
 */
import assert from "node:assert/strict";
import { observe } from "../lib/diagnostics/mod.ts";
import {
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  type Guard,
  KeyedMutex,
  Lock,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
} from "../mod.ts";
import { assertSound } from "./_sound.ts";
import { test } from "./_test.ts";
import { type FakeTime, flushMicrotasks, type Random, seeded, watch, type Watched, withFakeTime } from "./_tools.ts";

/** How deep callbacks act inside of callbacks. */
const DEEPEST = 3;

/** A signal of another library: each of its members acts first, sometimes. */
class ActingSignal {
  readonly #act: () => void;
  readonly #listeners = new Set<EventListenerObject>();
  #aborted = false;

  constructor(act: () => void) {
    this.#act = act;
  }

  get aborted(): boolean {
    this.#act();
    return this.#aborted;
  }

  get reason(): unknown {
    this.#act();
    return "aborted";
  }

  addEventListener(_: string, listener: EventListenerObject): void {
    this.#listeners.add(listener);
    this.#act();
  }

  removeEventListener(_: string, listener: EventListenerObject): void {
    this.#listeners.delete(listener);
    this.#act();
  }

  /** Sometimes the listeners hear of it later, or never. */
  abort(notifies: boolean): void {
    this.#aborted = true;
    if (notifies) { for (const listener of [...this.#listeners]) listener.handleEvent(new globalThis.Event("abort")); }
  }
}

class Walk {
  readonly random: Random;
  readonly time: FakeTime;
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
  readonly calls: Watched<unknown>[] = [];
  /** What was called, for the message of a failure. */
  readonly texts: Map<Watched<unknown>, string> = new Map();
  readonly guards: (Guard & { downgrade?(): Guard })[] = [];
  signals: ActingSignal[] = [];
  #depth = 0;

  constructor(random: Random, time: FakeTime) {
    this.random = random;
    this.time = time;
  }

  get things(): object[] {
    const { lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool } = this;
    return [lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool];
  }

  /** Called back in the middle of something. */
  callback(): void {
    if (this.#depth >= DEEPEST || this.random.below(4) > 0) return;
    this.#depth++;
    try {
      this.act();
    } finally {
      this.#depth--;
    }
  }

  act(): void {
    const { random } = this;
    const acts = [
      () => this.#call((options) => this.lock.acquire(options)),
      () => this.#call((options) => this.semaphore.acquire({ ...options, permits: 1 + random.below(2) })),
      () => this.#call((options) => this.bounded.acquire(options)),
      () => this.#call((options) => this.table.reader.acquire(options)),
      () => this.#call((options) => this.table.writer.acquire(options)),
      () => this.#call((options) => this.keys.acquire(random.below(2), options)),
      () => this.#call((options) => this.event.wait(options)),
      () => this.#call((options) => this.members.wait(options)),
      () => this.#call((options) => this.barrier.wait(options)),
      () => this.#call((options) => this.rate.acquire(options)),
      () => this.#call((options) => this.pool.run(() => {}, { ...options, priority: random.below(3) })),
      () => this.#wait(),
      () => this.#try(),
      () => this.guards.splice(random.below(this.guards.length || 1), 1)[0]?.release(),
      () => this.guards.splice(random.below(this.guards.length || 1), 1)[0]?.release(),
      () => this.guards.splice(random.below(this.guards.length || 1), 1)[0]?.release(),
      () => this.#downgrade(),
      () => random.below(2) === 0 ? this.event.set() : this.event.clear(),
      () => random.below(2) === 0 ? this.members.add(1) : this.members.delete(1),
      () => void (this.lock.locked && random.below(2) === 0 && this.#quietly(() => this.condition.notify(2))),
      () => void (random.below(9) === 0 && this.barrier.reset()),
      () => this.bounded.limit = random.below(4),
      () => this.pool.limit = random.below(3),
      () => this.#abort(),
      () => this.#abort(),
      () => void (this.#depth === 0 && this.time.advance(random.below(30))),
    ];
    random.pick(acts)();
  }

  #quietly(fn: () => void): void {
    try {
      fn();
    } catch { /* not held for the moment in which it is released */ }
  }

  /** Makes a call, often with a signal that acts and a time-out. */
  #call(fn: (options?: { signal?: AbortSignal; timeout?: number }) => Promise<unknown>): void {
    const { random } = this;
    const signal = new ActingSignal(() => this.callback());
    const timeout = random.pick([0, 7, 13, 29, Infinity]);
    const options = random.below(3) > 0 ? { signal: signal as unknown as AbortSignal, timeout } : undefined;
    if (options !== undefined) this.signals.push(signal);
    const call = fn(options);
    const watched = watch(call);
    this.calls.push(watched);
    this.texts.set(watched, `${fn}, ${options?.timeout}`);
    call.then((guard) => {
      if (typeof (guard as Guard | undefined)?.release === "function") this.guards.push(guard as Guard);
    }, () => {});
  }

  #wait(): void {
    if (this.lock.locked) this.#call((options) => this.condition.wait(options));
  }

  #try(): void {
    const { lock, semaphore, table, keys } = this;
    const guard = this.random.pick<() => Guard | undefined>([
      () => lock.tryAcquire(),
      () => semaphore.tryAcquire(),
      () => table.writer.tryAcquire(),
      () => table.reader.tryAcquire(),
      () => keys.tryAcquire(0),
    ])();
    if (guard !== undefined) this.guards.push(guard);
  }

  #downgrade(): void {
    const writer = this.guards.find((guard) => guard.held && "downgrade" in guard);
    if (writer !== undefined) this.guards.push(writer.downgrade!());
  }

  #abort(): void {
    const [signal] = this.signals.splice(this.random.below(this.signals.length || 1), 1);
    signal?.abort(this.random.below(4) > 0);
  }

  check(): void {
    for (const thing of this.things) {
      const { waiting = 0, value = 0 } = thing as { waiting?: number | (() => number); value?: number };
      assert.ok(typeof waiting === "function" || waiting >= 0, "waiting is never negative");
      assert.ok(value >= 0);
      assertSound(thing);
    }
  }

  /** Closes and releases everything: no call is left. */
  async end(): Promise<void> {
    const { lock, condition, semaphore, bounded, table, keys, event, members, barrier, rate, pool } = this;
    this.#depth = DEEPEST; // nothing acts any more
    bounded.limit = 2;
    pool.limit = 2;
    members.delete(1);
    event.set();
    barrier.abort();
    for (const one of [condition, semaphore, bounded, table, keys, event]) one.cancel("over");
    lock.cancel("over");
    for (let round = 0; round < 20; round++) {
      await flushMicrotasks();
      for (const guard of this.guards.splice(0)) guard.release();
      this.time.advance(50);
    }
    rate.cancel("over");
    pool.cancel("over");
    await flushMicrotasks();
    this.check();
    const pending = this.calls.filter(({ state }) => state === "pending").map((call) => this.texts.get(call));
    assert.deepEqual(pending, [], "these calls never end");
    const left = {
      lock: lock.locked,
      reader: table.reader.locked,
      writer: table.writer.locked,
      semaphore: semaphore.value,
      bounded: bounded.value,
      keys: keys.size,
      pool: pool.active,
    };
    assert.deepEqual(left, { lock: false, reader: false, writer: false, semaphore: 2, bounded: 2, keys: 0, pool: 0 });
    await pool.join();
  }
}

for (const kind of ["signals that act", "signals and observers that act"]) {
  test(`walk: ${kind}: sound after each step, and every call ends`, () =>
    seeded(async (random) => {
      for (let walks = 0; walks < 40; walks++) {
        await withFakeTime(async (time) => {
          const walk = new Walk(random, time);
          const act = () => walk.callback();
          const listening = kind === "signals that act" ? undefined : observe({
            wait: act,
            grant: act,
            giveUp: act,
            release: act,
          });
          try {
            for (let steps = 0; steps < 150; steps++) {
              walk.act();
              walk.check();
              if (random.below(2) === 0) await flushMicrotasks();
            }
            await walk.end();
          } finally {
            listening?.[Symbol.dispose]();
          }
        });
      }
    }));
}
