/** `maxWaiting`, `cancel` and `closed`: one rule for everything local that has a queue. */
import assert from "node:assert/strict";
import { observe } from "../lib/diagnostics/mod.ts";
import {
  BoundedSemaphore,
  ClosedError,
  Condition,
  Event,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  NotHeldError,
  Pool,
  QueueFullError,
  RateLimiter,
  RwLock,
  Semaphore,
  SyncError,
  TimeoutError,
  TimeoutLock,
  type WaitOptions,
} from "../mod.ts";
import { test } from "./_test.ts";
import { deferred, flushMicrotasks, states, watch, withFakeTime } from "./_tools.ts";

interface Options {
  readonly name?: string;
  readonly maxWaiting?: number;
}

/** One thing of each class, whose first call holds it for good. */
interface Thing {
  acquire(options?: WaitOptions): Promise<unknown>;
  tryAcquire?: () => unknown;
  cancel(reason?: unknown): void;
  readonly closed: boolean;
  readonly waiting: number;
  /** What the messages say. */
  readonly operation: string;
}

/** Binds the members of `one` to it. */
function thing(one: object, operation: string): Thing {
  const of = one as Thing;
  return {
    acquire: (options) => of.acquire(options),
    tryAcquire: () => of.tryAcquire!(),
    cancel: (...args) => of.cancel(...args),
    get closed() {
      return of.closed;
    },
    get waiting() {
      return of.waiting;
    },
    operation,
  };
}

function keyed(
  one: KeyedMutex<unknown> | KeyedSemaphore<unknown> | KeyedRateLimiter<unknown>,
  operation: string,
): Thing {
  return {
    acquire: (options) => one.acquire("key", options),
    tryAcquire: () => one.tryAcquire("key"),
    cancel: (...args) => one.cancel(...args),
    get closed() {
      return one.closed;
    },
    get waiting() {
      return one.waiting("key");
    },
    operation,
  };
}

const bounded: Record<string, (options?: Options) => Thing> = {
  Lock: (options) => thing(new Lock(options), "acquire lock"),
  TimeoutLock: (options) => thing(new TimeoutLock(Infinity, options), "acquire lock"),
  Semaphore: (options) => thing(new Semaphore(1, options), "acquire semaphore"),
  BoundedSemaphore: (options) => thing(new BoundedSemaphore(1, options), "acquire semaphore"),
  RateLimiter: (options) => thing(new RateLimiter(1, 1e9, options), "acquire rate limiter"),
  KeyedMutex: (options) => keyed(new KeyedMutex(options), "acquire lock"),
  KeyedSemaphore: (options) => keyed(new KeyedSemaphore(1, options), "acquire semaphore"),
  KeyedRateLimiter: (options) => keyed(new KeyedRateLimiter(1, 1e9, options), "acquire rate limiter"),
  RwLock: (options) => {
    const lock = new RwLock(options);
    let turn = 0;
    return {
      // A writer that waits, and readers behind it.
      acquire: (one) => (turn++ % 2 === 0 ? lock.writer : lock.reader).acquire(one),
      tryAcquire: () => lock.reader.tryAcquire(),
      cancel: (...args) => lock.cancel(...args),
      get closed() {
        return lock.closed;
      },
      get waiting() {
        return lock.reader.waiting + lock.writer.waiting;
      },
      operation: "acquire (reader|writer) side",
    };
  },
};

for (const [name, make] of Object.entries(bounded)) {
  test(`${name}: maxWaiting refuses at once what would be one more, and never what is free`, () =>
    withFakeTime(async (time) => {
      const one = make({ name: "orders", maxWaiting: 2 });
      await one.acquire(); // free
      const first = watch(one.acquire());
      const second = watch(one.acquire({ timeout: 50 }));
      const full = new RegExp(`^Cannot ${one.operation} "orders"( for key "key")?: 2 calls are waiting already$`);
      for (const call of [one.acquire(), one.acquire({ timeout: 5 })]) {
        await assert.rejects(call, (error: Error) => {
          assert.ok(error instanceof QueueFullError && error instanceof SyncError);
          assert.equal(error.name, "QueueFullError");
          assert.match(error.message, full);
          return true;
        });
      }
      // The checks come first, and a time-out of 0 is one.
      await assert.rejects(one.acquire({ timeout: -1 }), RangeError);
      await assert.rejects(one.acquire({ signal: AbortSignal.abort("gone") }), (reason) => reason === "gone");
      await assert.rejects(one.acquire({ timeout: 0 }), TimeoutError);
      assert.equal(await states([first, second]), "pending pending");
      assert.equal(one.waiting, 2);
      time.advance(50); // one leaves: there is room
      assert.equal(await states([first, second]), "pending rejected");
      const third = watch(one.acquire());
      assert.equal(await states([third]), "pending");
      one.cancel();
      assert.equal(await states([first, third]), "rejected rejected");
    }));

  test(`${name}: maxWaiting is a whole number of 0 or more, or Infinity`, async () => {
    for (const wrong of [-1, 1.5, NaN, -Infinity]) assert.throws(() => make({ maxWaiting: wrong }), RangeError);
    for (const wrong of ["1", null, 1n]) assert.throws(() => make({ maxWaiting: wrong as never }), TypeError);
    const one = make({ maxWaiting: 0 });
    await one.acquire();
    await assert.rejects(one.acquire(), QueueFullError);
    const free = make({ maxWaiting: Infinity });
    await free.acquire();
    assert.equal(await states([watch(free.acquire())]), "pending");
    free.cancel();
  });

  test(`${name}: observers see a refusal as a give-up with the outcome "full", and no wait`, async () => {
    const seen: string[] = [];
    using _ = observe({
      wait: () => void seen.push("wait"),
      grant: () => void seen.push("grant"),
      giveUp: ({ outcome }) => void seen.push(outcome),
    });
    const one = make({ maxWaiting: 1 });
    await one.acquire();
    const waits = watch(one.acquire());
    await assert.rejects(one.acquire(), QueueFullError);
    one.cancel();
    await states([waits]);
    assert.deepEqual(seen, ["grant", "wait", "full", "error"]);
  });

  test(`${name}: cancel rejects all waiters in order, in one step, and closes it for good`, async () => {
    const one = make({ name: "orders" });
    const guard = await one.acquire() as { release?: () => void } | undefined;
    const order: string[] = [];
    const watched = [1, 2, 3].map((id) => {
      const call = one.acquire();
      call.catch((reason) => order.push(`${id} ${reason}`));
      return watch(call);
    });
    assert.equal(one.closed, false);
    one.cancel("over");
    assert.deepEqual([one.closed, one.waiting], [true, 0]);
    assert.equal(await states(watched), "rejected rejected rejected");
    assert.deepEqual(order, ["1 over", "2 over", "3 over"]);
    one.cancel("later"); // the first reason stays, and nothing happens
    const closed = new RegExp(`^Cannot ${one.operation} "orders"( for key "key")?: [a-z -]+ is closed$`);
    const isClosed = (error: Error) => {
      assert.ok(error instanceof ClosedError);
      assert.match(error.message, closed);
      return true;
    };
    await assert.rejects(one.acquire(), isClosed);
    await assert.rejects(one.acquire({ timeout: 0 }), isClosed);
    await assert.rejects(one.acquire({ signal: AbortSignal.abort("gone") }), isClosed);
    await assert.rejects(one.acquire({ timeout: NaN }), RangeError);
    assert.throws(() => one.tryAcquire!(), isClosed);
    guard?.release?.(); // as usual
    await assert.rejects(one.acquire(), isClosed);
    assert.throws(() => one.tryAcquire!(), isClosed);
  });

  test(`${name}: cancel without a reason rejects with an AbortError; null is a reason`, async () => {
    for (const [args, expected] of [[[], "AbortError"], [[undefined], "AbortError"], [[null], undefined]] as const) {
      const one = make();
      await one.acquire();
      const waits = watch(one.acquire());
      one.cancel(...args);
      assert.equal(await states([waits]), "rejected");
      assert.equal((waits.reason as Error | null)?.name, expected);
    }
  });
}

test("RwLock: those of both sides wait together", async () => {
  const lock = new RwLock({ maxWaiting: 2 });
  const writer = await lock.writer.acquire();
  const watched = [watch(lock.reader.acquire()), watch(lock.writer.acquire())];
  await assert.rejects(
    lock.reader.acquire(),
    /^QueueFullError: Cannot acquire reader side: 2 calls are waiting already$/,
  );
  await assert.rejects(lock.writer.run(() => {}), QueueFullError);
  writer.release();
  assert.equal(await states(watched), "fulfilled pending");
  lock.cancel();
  await states(watched);
});

test("KeyedMutex: maxWaiting counts for each key; cancel is for all of them, and leaves no entry", async () => {
  const mutex = new KeyedMutex<string>({ maxWaiting: 1 });
  const guards = await Promise.all(["a", "b"].map((key) => mutex.acquire(key)));
  const watched = ["a", "b"].map((key) => watch(mutex.acquire(key)));
  await assert.rejects(
    mutex.acquire("a"),
    /^QueueFullError: Cannot acquire lock for key "a": 1 call is waiting already$/,
  );
  await assert.rejects(mutex.run("b", () => {}), QueueFullError);
  mutex.cancel("over");
  assert.equal(await states(watched), "rejected rejected");
  assert.equal(mutex.size, 2);
  await assert.rejects(mutex.acquire("c"), ClosedError);
  await assert.rejects(mutex.at("c").run(() => {}), ClosedError);
  for (const guard of guards) guard.release();
  assert.equal(mutex.size, 0);
});

test("Pool: maxWaiting counts run and createTask; the items of a map are never refused", async () => {
  const pool = new Pool(1, { name: "pages", maxWaiting: 1 });
  const { promise, resolve } = deferred();
  const running = pool.run(() => promise);
  const waits = pool.run(() => 2);
  await assert.rejects(pool.run(() => 3), /^QueueFullError: Cannot run in pool "pages": 1 call is waiting already$/);
  await assert.rejects(pool.createTask(() => 3), QueueFullError);
  await assert.rejects(pool.run(() => 3, { timeout: 0 }), TimeoutError);
  const mapped = pool.map([1, 2, 3], (n) => n).toArray();
  await flushMicrotasks();
  resolve();
  assert.deepEqual([await running, await waits, await mapped], [undefined, 2, [1, 2, 3]]);
  await pool.join();
});

test("Pool: a rate limiter that is cancelled rejects the calls that wait for a start; join ends", async () => {
  const rate = new RateLimiter(1, 1e9);
  const pool = new Pool(2, { rate });
  const watched = [1, 2, 3].map((n) => watch(pool.run(() => n)));
  await flushMicrotasks();
  const joined = watch(pool.join());
  rate.cancel("over");
  assert.equal(await states([...watched, joined]), "fulfilled rejected rejected fulfilled");
  assert.deepEqual(watched.slice(1).map(({ reason }) => reason), ["over", "over"]);
  await assert.rejects(pool.run(() => 4), ClosedError);
  pool.limit = 0; // also when it would have to wait for its slot
  await assert.rejects(pool.run(() => 5), ClosedError);
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
});

test("Event: cancel rejects all waiters, also those that share a promise; a set one that is closed rejects", async () => {
  const event = new Event({ name: "ready" });
  const watched = [watch(event.wait()), watch(event.wait()), watch(event.wait({ timeout: 1e6 }))];
  assert.equal(event.closed, false);
  event.cancel("over");
  assert.deepEqual([event.closed, event.waiting], [true, 0]);
  assert.equal(await states(watched), "rejected rejected rejected");
  assert.ok(watched.every(({ reason }) => reason === "over"));
  await assert.rejects(event.wait(), /^ClosedError: Cannot wait for event "ready": event is closed$/);
  event.set();
  assert.equal(event.isSet, true);
  await assert.rejects(event.wait(), ClosedError);
});

test("Condition: cancel ends the waits for a notification, each with the lock taken back; the lock stays open", async () => {
  const condition = new Condition();
  const guards: boolean[] = [];
  const watched = [1, 2, 3].map(() =>
    watch(condition.run(async (guard) => {
      try {
        await condition.wait();
      } finally {
        guards.push(guard.held);
      }
    }))
  );
  await flushMicrotasks();
  const holder = await condition.acquire();
  condition.cancel("over");
  assert.deepEqual([condition.closed, condition.waiting], [true, 0]);
  assert.equal(await states(watched), "pending pending pending"); // the lock is held
  holder.release();
  assert.equal(await states(watched), "rejected rejected rejected");
  assert.ok(watched.every(({ reason }) => reason === "over"));
  assert.deepEqual(guards, [true, true, true]);
  await condition.run(async () => {
    await assert.rejects(condition.wait(), /^ClosedError: Cannot wait for condition: condition is closed$/);
    await assert.rejects(condition.waitFor(() => true), ClosedError);
  });
  await assert.rejects(condition.wait(), ClosedError);
  assert.equal(condition.locked, false);
});

for (const when of ["before", "after"]) {
  test(`Condition: the way back to a lock that was cancelled ${when} it began ends with the lock's reason`, async () => {
    const lock = new Lock();
    const condition = new Condition(lock);
    const guard = await lock.acquire();
    const waits = watch(condition.wait());
    const other = await lock.acquire();
    if (when === "before") lock.cancel("over");
    condition.notify();
    if (when === "after") lock.cancel("over");
    assert.equal(await states([waits]), "rejected");
    assert.equal(waits.reason, "over");
    assert.equal(guard.held, false);
    guard.release();
    assert.equal(lock.locked, true);
    await assert.rejects(condition.wait(), /^ClosedError: Cannot wait for condition: lock is closed$/);
    other.release();
    assert.equal(lock.locked, false);
    assert.throws(() => lock.release(), NotHeldError);
  });
}

test("Condition: the way back to a lock is never refused, and counts", async () => {
  const lock = new Lock({ maxWaiting: 1 });
  const condition = new Condition(lock);
  const watched = [];
  for (let i = 0; i < 3; i++) {
    await lock.acquire();
    watched.push(watch(condition.wait().finally(() => lock.release())));
  }
  const holder = await lock.acquire();
  condition.notifyAll();
  assert.equal(lock.waiting, 3);
  await assert.rejects(lock.acquire(), /3 calls are waiting already/);
  holder.release();
  assert.equal(await states(watched), "fulfilled fulfilled fulfilled");
});

test("Condition: releasing a guard on its way back to the lock, under an observer", async () => {
  using _ = observe({ giveUp: () => {} });
  const condition = new Condition();
  const guard = await condition.acquire();
  const waits = watch(condition.wait());
  const other = await condition.acquire();
  condition.notify();
  guard.release();
  assert.equal(await states([waits]), "rejected");
  assert.ok(waits.reason instanceof NotHeldError);
  other.release();
  assert.equal(condition.locked, false);
});
