/**
 * Random walks over what runs functions or holds several things at once, in which functions, iterables, foreign signals
 * and observers act in the middle of whatever happens. After each step the invariants hold, and at the end each call has
 * ended and nothing is left.
 */
import assert from "node:assert/strict";
import {
  acquireAll,
  KeyedMutex,
  Lock,
  type MapResults,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
  TaskGroup,
  type WaitOptions,
} from "../mod.ts";
import { ActingWalk, walkActing } from "./_acting_walk.ts";
import { assertSound } from "./sound/mod.ts";
import { test } from "./_test.ts";
import { type FakeTime, flushMicrotasks, type Random, watch } from "./_tools.ts";

class Walk extends ActingWalk {
  readonly pool: Pool;
  readonly group: TaskGroup;
  readonly lock = new Lock();
  readonly semaphore = new Semaphore(2);
  readonly table = new RwLock();
  readonly keys = new KeyedMutex<number>();
  readonly #acts: readonly (() => void)[];

  constructor(random: Random, time: FakeTime) {
    super(random, time);
    const rate = random.below(3) === 0 ? new RateLimiter(2, 40) : undefined;
    this.pool = new Pool(1 + random.below(3), { rate });
    this.group = new TaskGroup(random.below(2) === 0 ? { limit: 2 } : undefined);
    this.#acts = random.pick([this.#ofPool(), this.#ofGroup(), this.#ofSets(), [
      ...this.#ofPool(),
      ...this.#ofGroup(),
    ]]);
  }

  #ofPool(): (() => void)[] {
    const { random, pool } = this;
    return [
      () => this.call("run", (options) => pool.run((signal) => this.work(signal), options)),
      () =>
        this.call("task", (options) => pool.createTask((signal) => this.work(signal), options).then((t) => t.result)),
      () => this.call("map", (options) => this.#map(options).toArray()),
      () => this.call("read", (options) => this.#read(this.#map(options))),
      () => pool.limit = 1 + random.below(3),
      () => void (random.below(25) === 0 && pool.cancel("cancelled")),
      () => void (random.below(25) === 0 && pool.close()),
    ];
  }

  #ofGroup(): (() => void)[] {
    const { random, group } = this;
    const run = () => this.call("group", () => group.run((signal) => this.work(signal)));
    return [run, run, run, () => void (random.below(25) === 0 && group.cancel("cancelled"))];
  }

  #ofSets(): (() => void)[] {
    const { random, lock, semaphore, table, keys } = this;
    const all = [lock, semaphore, table.reader, table.writer, keys.at(0), keys.at(1)];
    const some = () => {
      const chosen = all.filter(() => random.below(2) === 0);
      return chosen.includes(table.writer) ? chosen.filter((one) => one !== table.reader) : chosen;
    };
    const set = () => this.call("set", (options) => acquireAll(some(), options));
    return [set, set, () => this.call("one", (options) => (random.pick(all) as Lock).acquire(options))];
  }

  override act(): void {
    const { random } = this;
    random.pick([...this.#acts, () => this.common(), () => this.common(), () => this.common()])();
  }

  #map(options?: WaitOptions): MapResults<void> {
    const signal = options?.signal;
    return this.pool.map(this.#items(), (_, __, signal) => this.work(signal), signal && { signal });
  }

  *#items(): Iterable<number> {
    try {
      for (let item = 0; item < 4; item++) {
        this.callback();
        yield item;
      }
    } finally {
      this.callback();
    }
  }

  async #read(map: AsyncIterable<unknown>): Promise<void> {
    const leave = this.random.below(8);
    let read = 0;
    for await (const _ of map) {
      this.callback();
      if (read++ === leave) break;
    }
  }

  override check(): void {
    const { pool, group, lock, semaphore, table, keys } = this;
    for (const thing of [pool, group, lock, semaphore, table, keys]) assertSound(thing);
    for (const { active, waiting } of [pool, group]) assert.ok(active >= 0 && waiting >= 0);
  }

  /** Ends everything: no call is left. */
  override async end(): Promise<void> {
    const { pool, group, lock, semaphore, table, keys } = this;
    this.calmDown();
    pool.limit = 2;
    const joins = [pool.join(), group.join()].map(watch);
    for (let round = 0; round < 400 && [...this.calls, ...joins].some(({ state }) => state === "pending"); round++) {
      await flushMicrotasks();
      for (const end of this.running) end(false);
      for (const one of this.held.splice(0)) one.release();
      this.time.advance(50);
      this.check();
    }
    assert.deepEqual(this.pending, [], "these calls never end");
    assert.ok(joins.every(({ state }) => state !== "pending"), "a join never ends");
    const left = [pool, group].flatMap(({ active, waiting }) => [active, waiting]);
    assert.deepEqual([...left, lock.locked, semaphore.value, keys.size], [0, 0, 0, 0, false, 2, 0]);
    assert.deepEqual([table.reader.locked, table.writer.locked], [false, false]);
  }
}

test(`walk over functions and sets: observers that act: sound after each step, and every call ends`, () =>
  walkActing(100, 100, (random, time) => new Walk(random, time)));
