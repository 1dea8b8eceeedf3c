/** acquireAll: one order for all callers, all or nothing, and its refusals. */
import assert from "node:assert/strict";
import {
  type Acquirable,
  acquireAll,
  type AnyGuard,
  BoundedSemaphore,
  ClosedError,
  Condition,
  type Guard,
  KeyedMutex,
  Lock,
  RwLock,
  Semaphore,
  TimeoutError,
  TimeoutLock,
} from "../mod.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { memoryBackend, RedisLock } from "../lib/redis/mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, refusesBadOptions, rejectsWith, seeded, states, watch, withFakeTime } from "./_tools.ts";

test("acquireAll: holds everything, in the list's order, until it is released", async () => {
  const lock = new Lock();
  const semaphore = new Semaphore(2);
  const keys = new KeyedMutex<string>();
  const rw = new RwLock();
  const timed = new TimeoutLock(5);
  const bounded = new BoundedSemaphore(1);
  const list = [keys.at("b"), rw.reader, lock, timed, bounded, semaphore, keys.at("a")] as const;
  const state = () => [keys.size, timed.locked, rw.reader.locked, semaphore.value, bounded.value];
  const group = await acquireAll(list);
  assert.deepEqual([group.guards.length, group.held, lock.locked], [list.length, true, true]);
  assert.deepEqual(state(), [2, true, true, 1, 0]);
  group.guards[2].release();
  assert.deepEqual([lock.locked, group.held], [false, false], "guards are in the list's order");
  const release = group.release();
  assert.equal(group.release(), release);
  await release;
  await group[Symbol.asyncDispose]();
  assert.deepEqual(state(), [0, false, false, 2, 1]);
  assert.ok(group.guards.every((guard) => !guard.held));
});

test("acquireAll: an empty list is held at once", async () => {
  const group = await acquireAll([]);
  assert.deepEqual([group.guards, group.held], [[], true]);
  await group.release();
  assert.equal(group.held, false);
  const aborted = AbortSignal.abort();
  await rejectsWith(acquireAll([], { signal: aborted }), aborted.reason);
});

test("acquireAll: what is closed is told before anything is waited for", async () => {
  const [alone, semaphore, rwLock, mutex] = [new Lock(), new BoundedSemaphore(), new RwLock(), new KeyedMutex()];
  for (const owner of [alone, semaphore, rwLock, mutex]) owner.cancel();
  for (const closed of [alone, semaphore, rwLock.reader, rwLock.writer, mutex.at("a")]) {
    const lock = new Lock();
    using _ = await lock.acquire();
    const { signal } = new AbortController();
    for (const options of [undefined, { timeout: 10_000 }, { signal }, { signal: AbortSignal.abort() }]) {
      const call = watch(acquireAll([lock, closed], options));
      await flushMicrotasks();
      assert.equal(call.state, "rejected");
      await assert.rejects(call.promise, ClosedError);
    }
    assert.equal(lock.waiting, 0);
  }
});

test("acquireAll: keys keep their order while a call in progress uses them", async () => {
  const keys = new KeyedMutex<string>();
  const lock = new Lock();
  await (await acquireAll([lock])).release(); // its place is before those of the keys
  const guard = await lock.acquire();
  const one = watch(acquireAll([lock, keys.at("x"), keys.at("y")]));
  const other = watch(acquireAll([keys.at("y"), keys.at("x")]));
  assert.equal(await states([one, other]), "pending fulfilled");
  assert.equal(keys.waiting("x"), 0);
  guard.release();
  await flushMicrotasks();
  assert.deepEqual([keys.waiting("x"), keys.waiting("y")], [1, 0]);
  await other.value!.release();
  await (await one.promise).release();
  assert.equal(keys.size, 0);
});

test("acquireAll: keys of any kind, each once", async () => {
  const keys = new KeyedMutex<unknown>();
  const object = {};
  const all = [1, "1", NaN, null, object, Symbol("s"), Symbol.for("s"), 1n, true, 0];
  const group = await acquireAll(all.map((key) => keys.at(key)));
  assert.equal(keys.size, all.length);
  await group.release();
  assert.equal(keys.size, 0);
  for (const key of all) {
    await assert.rejects(
      acquireAll([keys.at(key), keys.at(key)]),
      /TypeError: list\[1\] must not be the same as list\[0\]/,
    );
  }
  await assert.rejects(acquireAll([keys.at(0), keys.at(-0)]), TypeError);
});

test("acquireAll: the same thing twice is refused", async () => {
  const [lock, semaphore, rw, keys] = [new Lock(), new Semaphore(5), new RwLock(), new KeyedMutex<number>()];
  const lists: Acquirable<Guard>[][] = [
    [lock, lock],
    [lock, new Lock(), lock],
    [semaphore, semaphore],
    [rw.reader, rw.reader],
    [rw.reader, rw.writer],
    [rw.writer, lock, rw.reader],
    [keys.at(1), keys.at(2), keys.at(1)],
  ];
  for (const list of lists) await assert.rejects(acquireAll(list), TypeError);
  assert.deepEqual([lock.locked, semaphore.value, keys.size], [false, 5, 0]);
  assert.deepEqual([rw.reader.locked, rw.writer.locked], [false, false]);
  const other = new KeyedMutex<number>();
  await (await acquireAll([keys.at(1), other.at(1)])).release();
});

test("acquireAll: anything without a place is refused before anything is acquired", async () => {
  const lock = new Lock();
  const own: Acquirable<AnyGuard> = {
    acquire: () => assert.fail("called"),
    tryAcquire: () => undefined,
    run: () => assert.fail("called"),
  };
  for (const thing of [own, new Condition(lock), null, undefined, 5, "lock", {}, new KeyedMutex(), new RwLock()]) {
    await assert.rejects(acquireAll([lock, thing as never]), /TypeError: list\[1\] must be a lock.*mutex\.at\(key\)/);
    assert.equal(lock.locked, false);
  }
  const holes: Lock[] = [lock];
  holes[2] = lock;
  await assert.rejects(acquireAll(holes), /TypeError: list\[1\]/);
  for (const list of [undefined, null, 5, "locks", lock, new Set([lock])]) {
    await assert.rejects(acquireAll(list as never), /TypeError: list must be an array/);
  }
  await refusesBadOptions((options) => acquireAll([lock], options));
  await assert.rejects(acquireAll([lock, lock], { signal: AbortSignal.abort() }), TypeError);
  assert.equal(lock.locked, false);
});

test("acquireAll: a time-out names what it waited for, whatever its name and key are", async () => {
  const users = new KeyedMutex<string>({ name: "users: timed out after 5 ms; held" });
  const cases = [
    [new Lock({ name: "b" }), 'lock "b"'],
    [new Lock(), "lock"],
    [new TimeoutLock(1, { name: "b" }), 'lock "b"'],
    [new BoundedSemaphore(1, { name: "seats" }), 'semaphore "seats"'],
    [new RwLock({ name: "config" }).writer, 'writer side "config"'],
    [users.at("ada"), 'lock "users: timed out after 5 ms; held" for key "ada"'],
    [new RedisLock(memoryBackend(), "orders"), 'lock "orders"'],
  ] as const;
  for (const [lock, named] of cases) {
    await using _ = await (lock as Acquirable<AsyncDisposable>).acquire();
    await assert.rejects(acquireAll([new Lock({ name: "a" }), lock] as Lock[], { timeout: 5 }), {
      name: "TimeoutError",
      message: `Cannot acquire all: timed out after 5 ms waiting for ${named}`,
    });
  }
});

test("acquireAll: the time bounds the whole, not each wait", () =>
  withFakeTime(async (time) => {
    const locks = [new Lock(), new Lock(), new TimeoutLock(1)];
    await (await acquireAll(locks)).release(); // pins the order
    const guards = await Promise.all(locks.map((lock) => lock.acquire()));
    const call = watch(acquireAll(locks, { timeout: 100 }));
    time.advance(60);
    guards[0]!.release();
    await flushMicrotasks();
    time.advance(39);
    assert.equal(await states([call]), "pending");
    time.advance(1);
    await assert.rejects(call.promise, (error: Error) =>
      error instanceof TimeoutError && error.cause instanceof TimeoutError);
    assert.deepEqual(
      locks.map((lock) =>
        lock.waiting
      ),
      [0, 0, 0],
    );
    assert.equal(locks[0]!.locked, false, "given back");
    for (const guard of guards) guard.release();
  }));

test("acquireAll: what is free is held at once, so that no newcomer overtakes", async () => {
  const [a, b, keys, rw] = [new Lock(), new Semaphore(1), new KeyedMutex<string>(), new RwLock()];
  const first = watch(acquireAll([a, b, keys.at("k"), rw.writer]));
  const newcomers = [a.acquire(), b.acquire(), keys.acquire("k"), rw.reader.acquire()].map((one) => watch(one));
  assert.equal(await states([first, ...newcomers]), "fulfilled pending pending pending pending");
  await first.value!.release();
  assert.equal(await states(newcomers), "fulfilled fulfilled fulfilled fulfilled");
  for (const { value } of newcomers) value!.release();
});

test("acquireAll: timeout 0 does not see a release made later in the same tick", async () => {
  const [free, held] = [new Lock(), new Lock()];
  await (await acquireAll([free, held])).release(); // pins the order
  const guard = await held.acquire();
  const call = watch(acquireAll([free, held], { timeout: 0 }));
  guard.release();
  await assert.rejects(call.promise, TimeoutError);
  assert.deepEqual([free.locked, held.locked], [false, false]);
});

test("acquireAll: calls that join one queue in the same tick stay in their order", async () => {
  const [first, common, last] = [new Lock(), new Lock(), new Lock()];
  await (await acquireAll([first, common, last])).release(); // pins the order
  const guard = await common.acquire();
  const order: string[] = [];
  const calls = [[first, common], [common, last], [common]].map(async (list, i) => {
    await using _ = await acquireAll(list);
    order.push(`call ${i}`);
  });
  guard.release();
  await Promise.all(calls);
  assert.deepEqual(order, ["call 0", "call 1", "call 2"]);
});

test("acquireAll: without a timeout, a TimeoutLock has its own", () =>
  withFakeTime(async (time) => {
    const [free, timed] = [new Lock(), new TimeoutLock(20)];
    const guard = await timed.acquire();
    const calls = [undefined, { signal: new AbortController().signal }, { timeout: Infinity }]
      .map((options) => watch(acquireAll([free, timed], options)));
    for (const call of calls) {
      await flushMicrotasks();
      time.advance(20);
      await assert.rejects(call.promise, /Cannot acquire lock: timed out after 20 ms/);
    }
    assert.equal(free.locked, false);
    guard.release();
  }));

/** A lock whose guards are given back slowly, or not at all. */
class OddLock extends Lock {
  readonly giveBack: () => unknown;

  constructor(giveBack: () => unknown) {
    super();
    this.giveBack = giveBack;
  }

  override async acquire(): Promise<Guard> {
    await super.acquire();
    return { held: true, release: this.giveBack } as Guard;
  }

  override tryAcquire(): Guard | undefined {
    return super.tryAcquire() && { held: true, release: this.giveBack } as Guard;
  }
}

test("acquireAll: rejects only after everything was given back, with the cause", async () => {
  const error = new Error("release failed");
  let finish = () => {};
  const slow = new OddLock(() => new Promise<void>((resolve) => finish = resolve));
  const failing = new OddLock(() => Promise.reject(error));
  const throwing = new OddLock(() => {
    throw error;
  });
  const last = new Lock();
  const list = [slow, failing, throwing, last];
  using _ = await last.acquire();
  const controller = new AbortController();
  const call = watch(acquireAll(list, { signal: controller.signal }));
  await flushMicrotasks();
  controller.abort();
  assert.equal(await states([call]), "pending", "one is not given back yet");
  finish();
  await rejectsWith(call.promise, controller.signal.reason);
});

test("acquireAll: release reports errors after everything was given back", async () => {
  const errors = [new Error("first"), new Error("second")];
  const [good, bad, worse] = [new Lock(), ...errors.map((error) => new OddLock(() => Promise.reject(error)))];
  await rejectsWith((await acquireAll([bad!, good!])).release(), errors[0]);
  assert.equal(good!.locked, false);
  const rest = errors.map((error) => new OddLock(() => Promise.reject(error)));
  await assert.rejects((await acquireAll([...rest, good!])).release(), (error: AggregateError) => {
    assert.deepEqual(new Set(error.errors), new Set(errors));
    return true;
  });
  assert.equal(good!.locked, false);
  assert.ok(worse);
});

test("acquireAll: the list is read once", async () => {
  const [a, b] = [new Lock(), new Lock()];
  const guard = await a.acquire();
  const list = [a, b];
  const call = watch(acquireAll(list));
  list.length = 0;
  guard.release();
  const group = await call.promise;
  assert.equal(group.guards.length, 2);
  await group.release();
});

test("acquireAll: transfers between random accounts keep the sum, and all end", () =>
  seeded(async (random) => {
    const accounts = new KeyedMutex<number>();
    const balances = Array.from({ length: 6 }, () => 100);
    const transfer = async (from: number, to: number, amount: number) => {
      await using _ = await acquireAll([accounts.at(from), accounts.at(to)]);
      const [a, b] = [balances[from]!, balances[to]!];
      await Promise.resolve();
      balances[from] = a - amount;
      balances[to] = b + amount;
    };
    await Promise.all(Array.from({ length: 500 }, () => {
      const from = random.below(6);
      return transfer(from, (from + 1 + random.below(5)) % 6, random.below(20));
    }));
    assert.equal(balances.reduce((sum, balance) => sum + balance), 600);
    assert.equal(accounts.size, 0);
  }));

test("acquireAll: an abort between two grants rejects, also where the rest is free", async () => {
  const [first, second] = [new Lock(), new Lock()];
  const guard = await first.acquire();
  const controller = new AbortController();
  const reason = new Error("no longer wanted");
  const all = acquireAll([first, second], { signal: controller.signal });
  guard.release(); // grants `first` in this step
  controller.abort(reason);
  await assert.rejects(all, (error) => error === reason);
  assert.deepEqual([first.locked, second.locked], [false, false]);
});

test("acquireAll: release gives back the latest first", async () => {
  const events: string[] = [];
  using _ = observe({
    grant: ({ name }) => void events.push(`+${name}`),
    release: ({ name }) => void events.push(`-${name}`),
  });
  const [a, b, c] = ["a", "b", "c"].map((name) => new Lock({ name })) as [Lock, Lock, Lock];
  await (await acquireAll([c, a, b])).release();
  assert.deepEqual(events.slice(3), events.slice(0, 3).toReversed().map((grant) => grant.replace("+", "-")));
});
