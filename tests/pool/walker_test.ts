/** Pool: random runs, tasks and maps with aborts, pauses and a rate; after each step its promises are checked. */
import assert from "node:assert/strict";
import { Pool, RateLimiter } from "../../mod.ts";
import { assertSound } from "../sound/mod.ts";
import { deeply } from "../_random.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  type FakeTime,
  flushMicrotasks,
  type Random,
  seeded,
  watch,
  type Watched,
  withFakeTime,
} from "../_tools.ts";

/** One function in the pool. */
interface Running {
  finish(): void;
}

class Walk {
  readonly random: Random;
  readonly time: FakeTime;
  readonly pool: Pool;
  readonly rate: RateLimiter | undefined;
  readonly running = new Set<Running>();
  /** The calls of run and createTask that have neither started nor been cancelled, in order. */
  readonly queue: number[] = [];
  readonly calls: Watched<unknown>[] = [];
  readonly controllers: CountingController[] = [];
  readonly starts: number[] = [];
  readonly broken: string[] = [];
  #next = 0;

  constructor(random: Random, time: FakeTime) {
    this.random = random;
    this.time = time;
    this.rate = random.below(2) === 0 ? new RateLimiter(1 + random.below(4), 50) : undefined;
    this.pool = new Pool(1 + random.below(4), { rate: this.rate });
  }

  /** Kept for the end: an error that is thrown inside the pool would look like a failure of the function. */
  check(holds: boolean, promise: string): void {
    if (!holds) this.broken.push(promise);
  }

  /** Waits until a step ends it, throws, or sees its signal abort. */
  work(signal: AbortSignal): Promise<void> {
    this.check(this.running.size < this.pool.limit, "more than the limit");
    this.starts.push(performance.now());
    return new Promise((resolve, reject) => {
      const running = {
        finish: () => {
          this.running.delete(running);
          if (this.random.below(5) === 0) reject(new Error("failed"));
          else resolve();
        },
      };
      this.running.add(running);
      if (this.random.below(2) === 0) {
        signal.addEventListener("abort", () => this.running.delete(running) && reject(signal.reason));
      }
    });
  }

  call(): void {
    const id = this.#next++;
    const controller = new CountingController();
    this.controllers.push(controller);
    this.queue.push(id);
    const fn = (signal: AbortSignal) => {
      this.check(this.queue.shift() === id, "not first come, first served");
      return this.work(signal);
    };
    const { signal } = controller;
    signal.addEventListener("abort", () => {
      if (this.queue.includes(id)) this.queue.splice(this.queue.indexOf(id), 1);
    });
    controller.listeners = 0; // the one above is the walker's
    const promise = this.random.below(2) === 0
      ? this.pool.run(fn, { signal })
      : this.pool.createTask(fn, { signal }).then((task) => task.result);
    this.calls.push(watch(promise));
  }

  map(): void {
    const controller = new CountingController();
    this.controllers.push(controller);
    let stopped = false;
    const { signal } = controller;
    signal.addEventListener("abort", () => stopped = true);
    controller.listeners = 0;
    // deno-lint-ignore no-this-alias -- a generator has its own
    const walk = this;
    const items = function* () {
      for (let n = 0; n < 6; n++) {
        walk.check(!stopped, "pulled after the stop");
        yield n;
      }
    };
    const map = this.pool.map(items(), (_, __, own) => {
      this.check(!stopped, "called after the stop");
      return this.work(own);
    }, { signal, ordered: this.random.below(2) === 0, buffer: 1 + this.random.below(8) });
    this.calls.push(watch<unknown>(this.random.below(2) === 0 ? map.toArray() : this.read(map)));
  }

  async read(map: AsyncIterable<void>): Promise<void> {
    const leave = this.random.below(8);
    let read = 0;
    for await (const _ of map) if (read++ === leave) break;
  }

  async step(): Promise<void> {
    const action = this.random.below(12);
    // A function whose slot is granted starts a microtask later, also if the limit or the fake clock has changed by then.
    if (action >= 9) await flushMicrotasks();
    if (action < 4) this.call();
    else if (action < 5) this.map();
    else if (action < 8) this.random.pick([...this.running, { finish() {} }]).finish();
    else if (action < 9) this.random.pick([...this.controllers, new CountingController()]).abort(new Error("aborted"));
    else if (action < 10) await this.pass(this.random.below(8));
    else this.pool.limit = this.random.pick([0, 1, 2, 4, Infinity]);
  }

  /** Moves the clock by steps of 10 ms. */
  async pass(steps: number): Promise<void> {
    for (; steps > 0; steps--) {
      this.time.advance(10);
      await flushMicrotasks();
    }
  }

  async end(): Promise<void> {
    await flushMicrotasks();
    this.pool.limit = 4;
    if (this.random.below(4) === 0) {
      this.queue.length = 0;
      this.pool.cancel(new Error("cancelled"));
    }
    for (let turns = 0; this.calls.some(({ state }) => state === "pending"); turns++) {
      assert.ok(turns < 1000, "a call never ends");
      for (const running of this.running) running.finish();
      await flushMicrotasks();
      await this.pass(1);
    }
    await this.pool.join().catch(() => {});
    await flushMicrotasks();
    assert.deepEqual([this.pool.active, this.pool.waiting, this.rate?.waiting ?? 0], [0, 0, 0]);
    assert.deepEqual(this.controllers.filter(({ listeners }) => listeners !== 0), []);
    assert.deepEqual(this.broken, []);
    if (this.rate === undefined) return;
    const { limit, interval } = this.rate;
    this.starts.forEach((at, i) => assert.ok(i < limit || at - this.starts[i - limit]! >= interval, "too many starts"));
  }
}

test("Pool: random walks keep the limit, the order and the rate, and leave nothing behind", () =>
  seeded(async (random) => {
    for (let walks = 0; walks < deeply(40, 150); walks++) {
      await withFakeTime(async (time) => {
        const walk = new Walk(random, time);
        for (let steps = 0; steps < 60; steps++) {
          await walk.step();
          assertSound(walk.pool);
          if (walk.rate !== undefined) assertSound(walk.rate);
          if (random.below(3) > 0) await flushMicrotasks();
        }
        await walk.end();
      });
    }
  }));
