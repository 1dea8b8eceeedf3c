/**
 * The promises of the types. The lines below are checked by `deno check`, most of them are never called; `@ts-expect-error`
 * marks code that must not compile.
 */
import assert from "node:assert/strict";
import {
  type Acquirable,
  acquireAll,
  type AnyGuard,
  type ArgumentMutex,
  Barrier,
  BoundedSemaphore,
  BrokenBarrierError,
  ClosedError,
  Condition,
  Event,
  type GracefulShutdown,
  type Guard,
  type GuardGroup,
  type KeyedLock,
  KeyedMutex,
  type KeyedPermits,
  KeyedRateLimiter,
  KeyedSemaphore,
  LeaseLostError,
  Lock,
  lockOnArguments,
  type MapOptions,
  type MapResults,
  NotHeldError,
  Pool,
  Queue,
  RateLimiter,
  type RateLimiterOptions,
  RwLock,
  Semaphore,
  type SemaphoreOptions,
  SetEvent,
  shareOnArguments,
  type ShutdownReport,
  SingleFlight,
  type SyncError,
  type Task,
  TaskGroup,
  TimeoutError,
  TimeoutLock,
  type WaitOptions,
} from "../mod.ts";
import {
  type Backend,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
  type RedisSemaphoreWaitOptions,
} from "../lib/redis/mod.ts";
import { test } from "./_test.ts";

/** Exactly the same type, in both directions; `any` is the same as nothing but itself. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only for a type that is the same as that of `value`. */
function is<Expected>() {
  return <Actual>(_value: Actual, ..._proof: Same<Actual, Expected> extends true ? [] : ["is", Actual]): void => {};
}

/** The same for several. */
function are<Expected extends unknown[]>() {
  return <Actual extends unknown[]>(
    _values: [...Actual],
    ..._proof: Same<Actual, Expected> extends true ? [] : ["are", Actual]
  ): void => {};
}

const options: WaitOptions = { signal: undefined, timeout: undefined };
const lock = new Lock();

/** One function body for everything that can be held: the code that moves from one process to many. */
async function locked<G extends AsyncDisposable>(thing: Acquirable<G>): Promise<string> {
  await using guard = (await thing.tryAcquire()) ?? (await thing.acquire(options));
  is<G>()(guard);
  return "held";
}

/** What has keys or values of one type can be passed where those of any type are used. */
export const general: [
  KeyedMutex<unknown>,
  KeyedSemaphore<unknown>,
  KeyedRateLimiter<unknown>,
  SingleFlight<unknown>,
  Queue<unknown>,
] = [
  new KeyedMutex<string>(),
  new KeyedSemaphore<string>(1),
  new KeyedRateLimiter<string>(1, 1000),
  new SingleFlight<string>(),
  new Queue<string>(),
];

test("types: every local body is an Acquirable", async () => {
  const { reader, writer } = new RwLock();
  const bodies: Acquirable<Guard>[] = [
    new Lock(),
    new TimeoutLock(10),
    new Condition(),
    new Semaphore(),
    new BoundedSemaphore(),
    reader,
    writer,
  ];
  for (const body of bodies) assert.equal(await locked(body), "held");
  const weighted: Acquirable<Guard, SemaphoreOptions> = new Semaphore(2);
  assert.equal(await weighted.run(() => 5, { permits: 2 }), 5);
});

test("types: tryAcquire without a promise, using and await using", async () => {
  {
    using guard = lock.tryAcquire() ?? await lock.acquire();
    is<Guard>()(guard);
    assert.equal(guard.held, true);
  }
  {
    await using guard = await lock.acquire(options);
    is<boolean>()(guard.held);
  }
  assert.equal(lock.locked, false);
});

test("types: lockOnArguments wraps and decorates, and keeps what it wraps", async () => {
  const mutex = new KeyedMutex<string>();
  const pay = lockOnArguments(mutex, [0])((user: string, cents: number) => ({ user, cents }));
  is<Promise<{ user: string; cents: number }>>()(pay("ada", 5));
  const byId = lockOnArguments(mutex, (user: { id: string }) => user.id)((user: { id: string }) =>
    Promise.resolve(user.id)
  );
  is<Promise<string>>()(byId({ id: "ada" }));
  class Till {
    total = 0;
    @lockOnArguments(mutex, [0])
    async add(_user: string, cents: number): Promise<number> {
      await Promise.resolve();
      return this.total += cents;
    }
  }
  assert.equal(await new Till().add("ada", 5), 5);
  mutex satisfies ArgumentMutex;
});

/** Never called: parameters and results of every member. */
export async function signatures(): Promise<void> {
  is<Promise<Guard>>()(lock.acquire(options));
  is<Guard | undefined>()(lock.tryAcquire());
  is<Promise<number>>()(lock.run(() => 1, options));
  is<Promise<number>>()(lock.run(() => Promise.resolve(1)));
  is<Promise<boolean>>()(lock.run((guard) => guard.held));
  are<[boolean, number, void]>()([lock.locked, lock.waiting, lock.release()]);
  are<[void, void]>()([(await lock.acquire()).release(), (await lock.acquire())[Symbol.dispose]()]);

  const event = new Event();
  are<[boolean, number, void, void]>()([event.isSet, event.waiting, event.set(), event.clear()]);
  is<Promise<void>>()(event.wait(options));

  const set = new SetEvent<string>(["a"]);
  is<SetEvent<string>>()(set.add("b"));
  are<[boolean, boolean, number, boolean]>()([set.delete("a"), set.has("a"), set.size, set.isSet]);
  is<string[]>()([...set]);
  is<Promise<void>>()(set.wait(options));
  is<Promise<7>>()(new SetEvent<Promise<unknown>>().track(Promise.resolve(7 as const)));

  const condition = new Condition(new TimeoutLock(5));
  is<Promise<void>>()(condition.wait(options));
  is<Promise<string>>()(condition.waitFor(() => "x", options));
  are<[void, void, boolean, number, void]>()(
    [condition.notify(2), condition.notifyAll(), condition.locked, condition.waiting, condition.release()],
  );

  const semaphore = new BoundedSemaphore(2);
  are<[number, boolean, number]>()([semaphore.value, semaphore.locked, semaphore.waiting]);
  is<Promise<Guard>>()(semaphore.acquire({ permits: undefined, signal: undefined, timeout: undefined }));
  are<[Guard | undefined, void]>()([semaphore.tryAcquire(2), semaphore.release(2)]);

  const barrier = new Barrier(2);
  is<Promise<number>>()(barrier.wait(options));
  are<[void, void, number, number, boolean]>()(
    [barrier.reset(), barrier.abort(), barrier.parties, barrier.waiting, barrier.broken],
  );

  const rw = new RwLock();
  are<[boolean, number, Guard | undefined]>()([rw.reader.locked, rw.writer.waiting, rw.reader.tryAcquire()]);

  const keyed = new KeyedMutex<"a" | 1>();
  is<Promise<Guard>>()(keyed.acquire("a", options));
  are<[Guard | undefined, boolean, number, number]>()(
    [keyed.tryAcquire(1), keyed.locked(1), keyed.waiting("a"), keyed.size],
  );
  is<Promise<string>>()(keyed.run(1, () => "x", options));

  are<[KeyedLock, Guard | undefined, boolean, number]>()(
    [keyed.at(1), keyed.at("a").tryAcquire(), keyed.at(1).locked, keyed.at(1).waiting],
  );
  keyed.at(1) satisfies Acquirable<Guard>;

  const limiter = new RateLimiter(100, 60_000);
  const starts: RateLimiterOptions = { ...options, permits: undefined };
  are<[Promise<void>, boolean, number, number, number]>()(
    [limiter.acquire(starts), limiter.tryAcquire(2), limiter.waiting, limiter.limit, limiter.interval],
  );
  is<Promise<string>>()(limiter.run(() => "x", starts));
  is<Promise<string>>()(limiter.run(() => Promise.resolve("x")));

  for (const Own of [TimeoutError, NotHeldError, ClosedError, BrokenBarrierError, LeaseLostError]) {
    new Own("Cannot", { cause: 1 }) satisfies SyncError;
  }
}

/** Never called: the guards of acquireAll have the types of the list's members. */
export async function together(remote: Acquirable<Lease>, keys: KeyedMutex<number>, locks: Lock[]): Promise<void> {
  const semaphore = new Semaphore(2);
  is<readonly [Guard, Lease, Guard]>()((await acquireAll([lock, remote, keys.at(1)])).guards);
  is<readonly [Guard, Lease]>()((await acquireAll([semaphore, remote] as const, options)).guards);
  is<readonly Guard[]>()((await acquireAll(locks)).guards);
  is<readonly []>()((await acquireAll([])).guards);
  const mixed: (Lock | Acquirable<Lease>)[] = [lock, remote];
  is<readonly (Guard | Lease)[]>()((await acquireAll(mixed)).guards);
  await using group = await acquireAll([lock, new RwLock().reader]);
  are<[boolean, Promise<void>]>()([group.held, group.release()]);
  group satisfies GuardGroup<readonly [Guard, Guard]>;
  group.guards satisfies readonly AnyGuard[];
}

/** Never called: the same for pools and maps. */
export async function running(pool: Pool, shutdown: GracefulShutdown): Promise<void> {
  is<Task<number>>()(await pool.createTask((signal) => String(signal.aborted).length, options));
  is<Promise<string>>()(pool.run(() => Promise.resolve("x"), options));
  for await (const value of pool.map([1, 2], (item, index) => `${item + index}`, { ordered: false })) {
    is<string>()(value);
  }
  is<Promise<string[]>>()(pool.map([1, 2], (item) => `${item}`, { buffer: Infinity }).toArray());
  is<Promise<boolean[]>>()(
    pool.map(new Set([Promise.resolve(1)]), async (item) => await Promise.resolve(item > 1)).toArray(),
  );
  are<[Pool, string | undefined]>()([new Pool(Infinity, { name: "p", rate: new RateLimiter(1, 1) }), pool.name]);
  for await (const value of pool.map(pool.map([1], (item) => item), (item) => item > 1)) is<boolean>()(value);
  is<Promise<string[]>>()(Pool.map([1, 2], 5, (item, index, signal) => `${item}${index}${signal.aborted}`));
  is<Promise<boolean[]>>()(Pool.map([Promise.resolve(1)], 5, async (n) => await Promise.resolve(n > 1), { name: "p" }));
  const ends = await Pool.map([1], 5, async (n) => await Promise.resolve(n > 1), {
    settled: true,
    signal: options.signal,
  });
  is<PromiseSettledResult<boolean>[]>()(ends);
  is<Promise<number[]>>()(Pool.map([1], 5, (n) => n, { settled: false, rate: new RateLimiter(1, 1) }));
  is<Promise<PromiseSettledResult<number>[]>>()(pool.map([1], (n) => n, { settled: true, ordered: false }).toArray());
  for await (const end of pool.map([1], (n) => n, { settled: true })) is<PromiseSettledResult<number>>()(end);
  for await (const end of pool.map([1], (n) => n, { settled: Math.random() > 2 })) {
    is<number | PromiseSettledResult<number>>()(end);
  }
  pool.map([1], (n) => n, { buffer: 5 } satisfies MapOptions) satisfies MapResults<number>;
  are<[number, number, void, void]>()([pool.active, pool.waiting, pool.close(), pool.cancel("enough")]);
  is<Promise<void>>()(pool.join(options));
  await using _pool: AsyncDisposable = pool;

  are<[AbortSignal, AbortSignal]>()([shutdown.signal, shutdown.forced]);
  is<void>()(shutdown.request("over"));
  is<Promise<ShutdownReport>>()(shutdown.finished);
  const { reason, drained, remaining, elapsed } = await shutdown.finished;
  is<unknown>()(reason);
  are<[boolean, number]>()([drained, elapsed]);
  remaining satisfies readonly string[];
}

/** Never called: queues, groups, flights, and one per key. */
export async function produced(): Promise<void> {
  const queue = new Queue<{ id: number }>(5, { name: "jobs" });
  are<[number, number, boolean]>()([queue.size, queue.getting, queue.closed]);
  is<Promise<{ id: number }>>()(queue.get(options));
  is<{ value: { id: number } } | undefined>()(queue.tryGet());
  are<[Promise<void>, boolean]>()([queue.put({ id: 1 }, options), queue.tryPut({ id: 2 })]);
  for await (const item of queue) is<{ id: number }>()(item);
  for await (const item of queue.values(options)) is<{ id: number }>()(item);
  is<Promise<unknown>>()(new Queue().get());
  queue satisfies Queue<object> satisfies AsyncIterable<object>;

  await using group = new TaskGroup({ limit: 2, signal: options.signal, name: "pages" });
  is<Promise<number>>()(group.run((signal) => Promise.resolve(Number(signal.aborted))));
  is<Promise<string>>()(group.run(() => "sync"));
  is<Promise<void>>()(group.join(options));

  const flights = new SingleFlight<number>();
  is<Promise<string>>()(flights.run(1, async (signal) => await Promise.resolve(`${signal.reason}`), options));
  are<[boolean, void, number]>()([flights.has(1), flights.forget(1), flights.size]);
  const load = shareOnArguments(new SingleFlight<string>(), [0])((id: number, note?: string) => ({ id, note }));
  is<(this: unknown, id: number, note?: string) => Promise<{ id: number; note: string | undefined }>>()(load);

  const hosts = new KeyedSemaphore<"a" | "b">(2);
  is<Guard | undefined>()(hosts.tryAcquire("a", 2));
  is<KeyedPermits>()(hosts.at("b"));
  hosts.at("a") satisfies Acquirable<Guard, SemaphoreOptions>;
  const users = new KeyedRateLimiter<string>(5, 1000);
  are<[boolean, number, Promise<void>]>()([users.tryAcquire("x"), users.retryAfter("x"), users.acquire("x")]);
  is<Promise<5>>()(users.run("x", () => 5 as const));
}

/** Never called: the same interface over Redis. */
export async function remote(backend: Backend): Promise<void> {
  const { reader, writer } = new RedisRwLock(backend, "x");
  const bodies: Acquirable<Lease>[] = [
    new RedisLock(backend, "x"),
    new RedisSemaphore(backend, "x", 2),
    reader,
    writer,
  ];
  for (const body of bodies) await locked(body);
  new RedisSemaphore(backend, "x", 2) satisfies Acquirable<Lease, RedisSemaphoreWaitOptions>;
  const limiter = new RedisRateLimiter(backend, "x", 2, 1000);
  await limiter.acquire({ permits: 2, timeout: 5 }) satisfies void;
  await limiter.tryAcquire() satisfies boolean;
  const budgets = [{ limit: 2, interval: 1000, kind: "bucket" }, { limit: 9, interval: 60_000 }] as const;
  await new RedisRateLimiter(backend, "x", budgets, { kind: "window" }).at("a").tryAcquire([1, 5]) satisfies boolean;
  const keyed = new RedisKeyedMutex(backend);
  keyed satisfies ArgumentMutex;
  is<Promise<Lease | undefined>>()(keyed.tryAcquire("ada"));
  await using lease = await keyed.acquire("ada", options);
  are<[boolean, AbortSignal, number, number, number]>()(
    [lease.held, lease.signal, lease.fencingToken, lease.expiresAt, lease.ttl],
  );
  is<Promise<boolean>>()(lease.release());
  // @ts-expect-error: giving a lease back takes a round trip, so it can't be disposed synchronously
  using _ = lease;
}

/** Never called: code that must not compile. */
export function mistakes(): void {
  // @ts-expect-error: a key of another type
  new KeyedMutex<string>().acquire(1);
  // @ts-expect-error: an item of another type
  new Queue<number>().put("1");
  // @ts-expect-error: the first argument is the capacity
  new Queue({ name: "jobs" });
  // @ts-expect-error: the number of permits is not optional
  new KeyedSemaphore();
  // @ts-expect-error: a mutex does not share
  shareOnArguments(new KeyedMutex<string>(), [0]);
  // @ts-expect-error: no set() on a set that opens by itself
  new SetEvent().set();
  // @ts-expect-error: only promises can be tracked
  new SetEvent<unknown>().track(5);
  // @ts-expect-error: permits belong to semaphores
  lock.acquire({ permits: 2 });
  // @ts-expect-error: the time is not optional
  new TimeoutLock();
  // @ts-expect-error: read-only
  lock.locked = true;
  // @ts-expect-error: a list, not a lock
  acquireAll(lock);
  // @ts-expect-error: an Event cannot be held
  acquireAll([lock, new Event()]);
  // @ts-expect-error: a condition is built on a Lock
  new Condition(new Semaphore());
}
