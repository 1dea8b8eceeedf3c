/**
 * Random walks over the Redis classes on a backend in memory, in which observers, foreign signals and the signals of
 * leases act in the middle of what happens. No two that exclude each other hold at once, fencing tokens grow, and at the
 * end each call has ended and nothing is left.
 */
import assert from "node:assert/strict";
import {
  type Lease,
  memoryBackend,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { namespaceOf } from "../../lib/redis/namespace.ts";
import { assertSoundNamespace } from "../sound/redis/namespace.ts";
import type { WaitOptions } from "../../mod.ts";
import { ActingWalk, walkActing } from "../_acting_walk.ts";
import { test } from "../_test.ts";
import { type FakeTime, flushMicrotasks, type Random } from "../_tools.ts";

const TTL = 600;

/** A lease, and its part of a whole of which no more than 1 is held at any time. */
interface Kept {
  readonly lease: Lease;
  readonly name: string;
  readonly part: number;
}

type Acquire = (options?: WaitOptions) => Promise<Lease | undefined>;

class Walk extends ActingWalk {
  protected override readonly timeouts = [0, 70, 130, 900, Infinity];
  readonly all: Kept[] = [];
  readonly #backend = memoryBackend();
  readonly #options: { ttl: number; renew: boolean };
  /** Two of each, as two processes would have them. */
  readonly locks: readonly RedisLock[];
  readonly semaphores: readonly RedisSemaphore[];
  readonly tables: readonly RedisRwLock[];
  readonly keys: readonly RedisKeyedMutex[];
  readonly rates: readonly RedisRateLimiter[];
  /** The last fencing token of each name. */
  readonly #tokens = new Map<string, number>();
  readonly #acts: readonly (() => void)[];
  /** Whether holds change hands: then two may seem to hold until the first one hears of it. */
  readonly #revokes: boolean;

  constructor(random: Random, time: FakeTime) {
    super(random, time);
    this.#revokes = random.below(3) === 0;
    const options = this.#options = { ttl: TTL, renew: random.below(3) > 0 };
    const two = <T>(make: () => T): T[] => [make(), make()];
    this.locks = two(() => new RedisLock(this.#backend, "lock", options));
    this.semaphores = two(() => new RedisSemaphore(this.#backend, "semaphore", 2, options));
    this.tables = two(() => new RedisRwLock(this.#backend, "table", options));
    this.keys = two(() => new RedisKeyedMutex(this.#backend, options));
    this.rates = two(() => new RedisRateLimiter(this.#backend, "rate", 2, 100));
    this.#acts = random.pick(this.#actsOfThings());
  }

  #actsOfThings(): (() => void)[][] {
    const { random, locks, semaphores, tables, keys, rates } = this;
    const either = <T>(pair: readonly T[]): T => random.pick(pair);
    return [
      [
        () => this.#acquire("lock", 1, (options) => either(locks).acquire(options)),
        () => this.#acquire("lock", 1, () => either(locks).tryAcquire()),
        () => this.#revoke("lock", either(locks)),
      ],
      [
        () => {
          const permits = 1 + random.below(2);
          this.#acquire("semaphore", permits / 2, (options) => either(semaphores).acquire({ ...options, permits }));
        },
        () => this.#acquire("semaphore", 1 / 2, () => either(semaphores).tryAcquire()),
        () => this.#revoke("semaphore", either(semaphores)),
      ],
      [
        () => this.#acquire("table", 1, (options) => either(tables).writer.acquire(options)),
        () => this.#acquire("table", 1e-6, (options) => either(tables).reader.acquire(options)),
        () => this.#acquire("table", 1e-6, async () => await either(tables).reader.tryAcquire()),
        () => this.#revoke("table", either(tables)),
      ],
      [
        () => this.#acquire("a", 1, (options) => either(keys).acquire("a", options)),
        () => this.#acquire("b", 1, (options) => either(keys).acquire("b", options)),
        () => this.#acquire("a", 1, () => either(keys).tryAcquire("a")),
      ],
      [() => this.#call((options) => either(rates).acquire(options))],
    ];
  }

  override act(): void {
    const { random } = this;
    random.pick([
      ...this.#acts,
      () => this.#release(),
      () => this.#release(),
      () => void this.#held()?.lease.extend(random.pick([TTL, 2 * TTL])).catch(() => {}),
      () => void this.#held()?.lease.verify(),
      () => this.signals.splice(random.below(this.signals.length || 1), 1)[0]?.abort(new Error("aborted")),
      () => void (this.depth === 0 && this.time.advance(random.below(TTL / 2))),
    ])();
  }

  #held(): Kept | undefined {
    const held = this.all.filter(({ lease }) => lease.held);
    return held.length === 0 ? undefined : this.random.pick(held);
  }

  #release(): void {
    const kept = this.#held();
    if (kept !== undefined) this.watch(`release ${kept.name}`, kept.lease.release());
  }

  #call<T>(fn: (options?: WaitOptions) => Promise<T>): Promise<T> {
    return this.call(`${fn}`, fn);
  }

  #acquire(name: string, part: number, fn: Acquire): void {
    this.#call(fn).then((lease) => lease && this.#keep({ lease, name, part }), () => {});
  }

  #keep(kept: Kept): void {
    const { lease, name } = kept;
    const last = this.#tokens.get(name) ?? 0;
    // Grants of one moment may be told in another order; those of an exclusive holder never are.
    if (kept.part === 1 && !this.#revokes) assert.ok(lease.fencingToken > last, `${lease.fencingToken} after ${last}`);
    this.#tokens.set(name, Math.max(last, lease.fencingToken));
    this.all.push(kept);
    lease.signal.addEventListener("abort", () => this.callback());
  }

  #revoke(of: string, one: RedisLock | RedisSemaphore | RedisRwLock): void {
    if (!this.#revokes || this.random.below(3) > 0) return;
    const held = this.all.find(({ lease, name }) => lease.held && name === of);
    if (held === undefined || one instanceof RedisRwLock || this.random.below(2) === 0) {
      return this.watch("forceRelease", one.forceRelease());
    }
    const adopting = one.adopt(held.lease.id);
    this.watch("adopt", adopting);
    adopting.then((lease) => lease && this.#keep({ ...held, lease }), () => {});
  }

  override check(): void {
    const namespace = namespaceOf(this.#backend, "interlock:");
    assertSoundNamespace(namespace);
    if (this.#revokes) return;
    const sums = new Map<string, number>();
    for (const { lease, name, part } of this.all) if (lease.held) sums.set(name, (sums.get(name) ?? 0) + part);
    for (const [name, sum] of sums) assert.ok(sum <= 1, `${name} is held by ${sum}`);
  }

  /** Ends everything: no call is left. */
  override async end(): Promise<void> {
    this.calmDown();
    for (let round = 0; round < 60 && this.calls.some(({ state }) => state === "pending"); round++) {
      for (const { lease } of this.all) if (lease.held) this.watch("last release", lease.release());
      await flushMicrotasks();
      await this.time.pass(200, 50);
      this.check();
    }
    for (const { lease } of this.all) if (lease.held) await lease.release();
    await this.time.pass(3 * TTL, 100);
    assert.deepEqual(this.pending, [], "these calls never end");
    const inspections = await Promise.all([this.locks, this.semaphores, this.tables].map(([one]) => one!.inspect()));
    for (const { holders, waiting } of inspections) assert.deepEqual([holders, waiting], [[], 0]);
  }
}

test(`walk over Redis in memory: observers that act: they exclude each other, and every call ends`, () =>
  walkActing(60, 100, (random, time) => new Walk(random, time)));
