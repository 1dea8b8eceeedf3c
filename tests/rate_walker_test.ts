/**
 * Random programs over limiters with several budgets, by fake time. A plain model keeps every start with its time, and
 * fills buckets by fractions: no window of any budget has more than its limit, no time of any length more than a bucket
 * allows, calls start in the order in which they came, as early as they may and at the time that retryAfter returned,
 * and a call that leaves takes nothing.
 */
import assert from "node:assert/strict";
import { KeyedRateLimiter } from "../mod.ts";
import { ForeignSignal } from "./_foreign_signal.ts";
import { type Budget, type Limiter, limiters, type Permits as Given } from "./_limiters.ts";
import { assertSound } from "./sound/mod.ts";
import { test } from "./_test.ts";
import { type FakeTime, flushMicrotasks, type Random, seeded, watch, withFakeTime } from "./_tools.ts";

type Permits = readonly number[];

/** Starts of one moment, of each budget. */
interface Start {
  readonly at: number;
  readonly permits: number[];
  /** A penalty takes no part in the promise about windows. */
  readonly isPenalty: boolean;
}

/** A token bucket that counts exactly: `parts` of a permit of size 1 / `whole`. */
class ExactBucket {
  readonly #budget: Budget;
  #parts: bigint;
  #whole = 1n;
  #at = 0n;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#parts = BigInt(budget.limit);
  }

  advance(now: number): void {
    const [limit, interval] = [BigInt(this.#budget.limit), BigInt(this.#budget.interval)];
    this.#parts = this.#parts * interval + (BigInt(now) - this.#at) * limit * this.#whole;
    this.#whole *= interval;
    this.#at = BigInt(now);
    if (this.#parts >= limit * this.#whole) [this.#parts, this.#whole] = [limit, 1n];
    let [a, b] = [this.#parts < 0n ? -this.#parts : this.#parts, this.#whole];
    while (a !== 0n) [a, b] = [b % a, a];
    [this.#parts, this.#whole] = [this.#parts / b, this.#whole / b];
  }

  take(permits: number): void {
    this.#parts -= BigInt(permits) * this.#whole;
  }

  /** Whole permits. */
  get level(): number {
    return Math.floor(Number(this.#parts * 1000000n / this.#whole) / 1000000);
  }
}

/** What the limiter should do, in the plainest words. */
class Model {
  readonly budgets: readonly Budget[];
  readonly waiting: { readonly id: number; readonly permits: Permits }[] = [];
  readonly started: number[] = [];
  readonly #buckets: readonly (ExactBucket | undefined)[];
  #starts: Start[] = [];
  #blockedUntil = 0;
  /** A start that was given back, of which this forgets when it was, makes room for another. */
  #rewarded = false;

  constructor(budgets: readonly Budget[]) {
    this.budgets = budgets.map((budget) => ({ ...budget }));
    this.#buckets = this.budgets.map((budget) => budget.kind === "bucket" ? new ExactBucket(budget) : undefined);
  }

  /** Starts that the budget allows now. */
  #left(budget: number, now: number): number {
    const bucket = this.#buckets[budget];
    bucket?.advance(now);
    return bucket?.level ?? this.budgets[budget]!.limit - this.#used(budget, now);
  }

  settle(now: number): void {
    for (const bucket of this.#buckets) bucket?.advance(now);
  }

  #used(budget: number, now: number): number {
    const { interval } = this.budgets[budget]!;
    return this.#starts.filter(({ at }) => at + interval > now).reduce((sum, one) => sum + one.permits[budget]!, 0);
  }

  mayStart(permits: Permits, now: number): boolean {
    const fits = (n: number, i: number) => n === 0 || n <= this.#left(i, now);
    return now >= this.#blockedUntil && permits.every(fits);
  }

  remaining(budget: number, now: number): number {
    if (this.waiting.length > 0 || now < this.#blockedUntil) return 0;
    return Math.max(0, this.#left(budget, now));
  }

  add(permits: Permits, now: number, isPenalty = false): void {
    this.#starts.push({ at: now, permits: [...permits], isPenalty });
    this.settle(now);
    this.#buckets.forEach((bucket, i) => bucket?.take(permits[i]!));
  }

  tryAcquire(permits: Permits, now: number): boolean {
    const may = this.waiting.length === 0 && this.mayStart(permits, now);
    if (may) this.add(permits, now);
    return may;
  }

  acquire(id: number, permits: Permits, now: number): void {
    this.waiting.push({ id, permits });
    this.serve(now);
  }

  leave(id: number, now: number): void {
    const index = this.waiting.findIndex((one) => one.id === id);
    if (index >= 0) this.waiting.splice(index, 1);
    this.serve(now);
  }

  serve(now: number): void {
    for (
      let first = this.waiting[0];
      first !== undefined && this.mayStart(first.permits, now);
      first = this.waiting[0]
    ) {
      this.add(first.permits, now);
      this.started.push(first.id);
      this.waiting.shift();
    }
  }

  block(ms: number, now: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, now + ms);
  }

  reward(permits: Permits, now: number): void {
    this.settle(now);
    permits.forEach((n, budget) => {
      const bucket = this.#buckets[budget];
      bucket?.take(-n);
      bucket?.advance(now); // it may be more than full
      this.#rewarded ||= n > 0;
      let left = Math.min(n, this.#used(budget, now));
      for (const one of [...this.#starts].reverse()) {
        const taken = Math.min(left, one.permits[budget]!);
        one.permits[budget]! -= taken;
        left -= taken;
      }
    });
    this.serve(now);
  }

  /** No window that begins with a start has more than the limit, penalties aside, and no time more than a bucket allows. */
  assertBounds(): void {
    this.budgets.forEach(({ limit, interval, kind }, budget) => {
      if (kind === "bucket") return this.#rewarded || this.#assertBucket(budget);
      for (const { at } of this.#starts) {
        const inside = this.#starts.filter((one) => !one.isPenalty && one.at >= at && one.at < at + interval);
        const count = inside.reduce((sum, one) => sum + one.permits[budget]!, 0);
        assert.ok(count <= limit, `${count} of ${limit} starts within ${interval} ms from ${at} on`);
      }
    });
  }

  #assertBucket(budget: number): void {
    const { limit, interval } = this.budgets[budget]!;
    this.#starts.forEach(({ at }, from) => {
      let count = 0;
      for (const one of this.#starts.slice(from)) {
        if (!one.isPenalty) count += one.permits[budget]!;
        const most = limit * interval + (one.at - at) * limit;
        assert.ok(count * interval <= most, `${count} starts within ${one.at - at} ms from ${at} on`);
      }
    });
  }
}

class Walk {
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #limiter: Limiter;
  readonly #model: Model;
  readonly #started: number[] = [];
  readonly #controllers = new Map<number, { readonly signal: AbortSignal; abort(): void }>();
  #changes = 0;
  #calls = 0;

  constructor(random: Random, time: FakeTime, make: (budgets: readonly Budget[]) => Limiter) {
    this.#random = random;
    this.#time = time;
    const budgets = Array.from({ length: 1 + random.below(3) }, () => ({
      limit: 1 + random.below(6),
      interval: 1 + random.below(40),
      kind: random.pick(["window", "bucket"] as const),
    }));
    this.#limiter = make(budgets);
    this.#model = new Model(budgets);
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      this.#step();
      await flushMicrotasks();
      this.#check();
      for (let ms = this.#random.pick([0, 0, 1, 5, 20]); ms > 0; ms--) await this.#tick();
    }
    await this.#checkRetryAfter();
    for (const controller of this.#controllers.values()) controller.abort();
    this.#limiter.whole.cancel();
    await flushMicrotasks();
    if (this.#changes === 0) this.#model.assertBounds();
    this.#time.advance(1000);
  }

  /**
   * A call starts after the time that retryAfter returned, if nothing else happens. Before each call ahead of it, a timer
   * may round the end of a bucket's wait up to a whole millisecond.
   */
  async #checkRetryAfter(): Promise<void> {
    const permits = given(this.#permits());
    const wait = this.#limiter.retryAfter(permits);
    const asked = performance.now();
    const rounded = this.#limiter.budgets.some(({ kind }) => kind === "bucket") ? this.#limiter.waiting() : 0;
    const started = watch(this.#limiter.acquire({ permits }).then(() => performance.now() - asked));
    await flushMicrotasks();
    while (started.state === "pending") await this.#time.pass(1, 1);
    const { value } = started;
    assert.ok(value! >= wait && value! <= wait + rounded, `started after ${value} ms, retryAfter returned ${wait}`);
  }

  async #tick(): Promise<void> {
    this.#time.advance(1);
    this.#model.serve(performance.now());
    await flushMicrotasks();
    this.#check();
  }

  #permits(most: (budget: Budget) => number = ({ limit }) => limit): Permits {
    const { budgets } = this.#limiter;
    if (this.#random.below(3) === 0) {
      const each = 1 + this.#random.below(Math.min(...budgets.map(most)));
      return budgets.map(() => each);
    }
    const permits = budgets.map((budget) => this.#random.below(1 + most(budget)));
    return permits.some((n) => n > 0) ? permits : permits.map(() => 1);
  }

  #step(): void {
    const [random, limiter, model, now] = [this.#random, this.#limiter, this.#model, performance.now()];
    const permits = this.#permits();
    const what = random.below(12);
    if (what < 5) this.#acquire(permits, now);
    else if (what < 7) assert.equal(limiter.tryAcquire(given(permits)), model.tryAcquire(permits, now));
    else if (what === 7) this.#abort(now);
    else if (what === 8) {
      limiter.reward(given(permits));
      model.reward(permits, now);
    } else if (what === 9) {
      const more = this.#permits(() => 8);
      limiter.penalty(given(more));
      model.add(more, now, true);
    } else if (what === 10) {
      const ms = random.below(30);
      limiter.block(ms);
      model.block(ms, now);
    } else if (random.below(3) === 0) this.#change(now);
  }

  #acquire(some: Permits, now: number): void {
    const id = this.#calls++;
    const how = this.#random.pick(["acquire", "run", "wrap"] as const);
    const permits = how === "wrap" ? some.map(() => 1) : some;
    const { whole } = this.#limiter;
    const wait = this.#limiter.retryAfter(given(permits));
    if (whole instanceof KeyedRateLimiter) disturb(whole);
    const start = () => {
      this.#started.push(id);
      this.#controllers.delete(id);
    };
    const options = () => ({ permits: given(permits), signal: this.#signal(id) });
    const call = how === "acquire"
      ? this.#limiter.acquire(options()).then(start)
      : how === "wrap" && !(whole instanceof KeyedRateLimiter) // keys leave no room for it
      ? whole.wrap(start)()
      : this.#limiter.run(start, how === "run" ? options() : undefined);
    call.catch(() => {});
    this.#model.acquire(id, permits, now);
    assert.equal(wait === 0, this.#model.started.includes(id), "retryAfter is 0 for a call that starts at once");
  }

  /** Of the platform, or of a polyfill. */
  #signal(id: number): AbortSignal {
    const foreign = new ForeignSignal();
    const controller = this.#random.below(2) === 0
      ? new AbortController()
      : { signal: foreign as unknown as AbortSignal, abort: () => foreign.abort() };
    this.#controllers.set(id, controller);
    return controller.signal;
  }

  #abort(now: number): void {
    const ids = [...this.#controllers.keys()];
    if (ids.length === 0) return;
    const id = this.#random.pick(ids);
    this.#controllers.get(id)!.abort();
    this.#controllers.delete(id);
    this.#model.leave(id, now);
  }

  #change(now: number): void {
    this.#changes++;
    const index = this.#random.below(this.#limiter.budgets.length);
    this.#model.settle(now);
    // A lower limit could leave a waiter that wants more; a longer interval could count starts that were forgotten.
    this.#model.budgets[index]!.limit += 1;
    this.#model.budgets[index]!.interval = Math.max(1, this.#model.budgets[index]!.interval - 3);
    this.#limiter.budgets[index]!.limit = this.#model.budgets[index]!.limit;
    this.#limiter.budgets[index]!.interval = this.#model.budgets[index]!.interval;
    this.#model.serve(now);
  }

  #check(): void {
    assert.deepEqual(this.#started, this.#model.started);
    assert.equal(this.#limiter.waiting(), this.#model.waiting.length);
    this.#limiter.budgets.forEach((_, i) => {
      assert.equal(this.#limiter.remaining(i), this.#model.remaining(i, performance.now()));
    });
    assertSound(this.#limiter.whole);
  }
}

/** Other keys have starts, blocks and waiters of their own, which must not matter. */
function disturb(all: KeyedRateLimiter<string>): void {
  all.tryAcquire("other");
  all.block("third", 3);
}

/** The same number for all as a number. */
function given(permits: Permits): Given {
  return permits.every((n) => n > 0 && n === permits[0]) ? permits[0]! : permits;
}

for (const [name, make] of limiters) {
  test(`walk: ${name}: windows, order and what is left, with random budgets and calls`, () =>
    seeded(async (random) => {
      for (let i = 0; i < 40; i++) await withFakeTime((time) => new Walk(random, time, make).run(60));
    }));
}
