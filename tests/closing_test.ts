/** `maxWaiting`, `cancel` and `closed`: one rule for everything local that has a queue. */
import assert from "node:assert/strict";
import { observe } from "../lib/diagnostics/mod.ts";
import {
  ClosedError,
  Condition,
  KeyedMutex,
  Lock,
  type MaxWaitingOptions,
  NotHeldError,
  Pool,
  QueueFullError,
  RateLimiter,
  RwLock,
  SyncError,
  TimeoutError,
} from "../mod.ts";
import type { Call, Needs } from "./kinds/kind.ts";
import { localKinds } from "./kinds/local.ts";
import { test } from "./_test.ts";
import { deferred, flushMicrotasks, states, watch, withFakeTime } from "./_tools.ts";

type Closing = object & { cancel(reason?: unknown): void; readonly closed: boolean };

/** What a test does with one method that waits. */
interface Subject {
  /** A new thing, on which the calls of `wait` wait until `unblock`. */
  blocked(options?: MaxWaitingOptions): Promise<{
    readonly thing: Closing;
    readonly wait: Call["wait"];
    readonly waiting: () => number;
    readonly unblock: () => unknown;
  }>;
  fresh(options?: MaxWaitingOptions): { readonly wait: Call["wait"] };
}

/** Anything may wait for these. */
const UNBOUNDED = ["Condition", "Event"];

for (const [kind, { make, calls }] of Object.entries(localKinds)) {
  const create = (options?: MaxWaitingOptions) => make(options, {} as Needs) as Closing;
  if (kind === "Queue" || !("closed" in create())) continue; // a queue has its own ends: queue_end_test.ts
  for (const method of Object.keys(calls(create()))) {
    const subject: Subject = {
      fresh: (options) => calls(create(options))[method]!,
      async blocked(options) {
        const thing = create(options);
        const { wait, block, waiting } = calls(thing)[method]!;
        return { thing, wait, waiting: waiting!, unblock: await block!() };
      },
    };
    closes(`${kind}.${method}`, subject);
    if (!UNBOUNDED.includes(kind)) bounds(`${kind}.${method}`, subject);
  }
}

/** Returns a function that asserts a rejection with this class and these words, behind the name and the key. */
function refusing(name: string, Wrong: new (message: string) => Error, words: string) {
  const key = name.startsWith("Keyed") ? ' for key "key"' : "";
  const message = new RegExp(`^Cannot [a-z ]+ "orders"${key}: ${words}$`);
  return (call: Promise<unknown>): Promise<void> =>
    assert.rejects(call, (error: Error) => {
      assert.ok(error instanceof Wrong && error instanceof SyncError);
      assert.equal(error.name, Wrong.name);
      assert.match(error.message, message);
      return true;
    });
}

function bounds(name: string, { blocked, fresh }: Subject): void {
  test(`${name}: maxWaiting refuses at once what would be one more, and never what is free`, () =>
    withFakeTime(async (time) => {
      await fresh({ maxWaiting: 0 }).wait(); // free
      const { thing, wait, waiting, unblock } = await blocked({ name: "orders", maxWaiting: 2 });
      const first = watch(wait());
      const second = watch(wait({ timeout: 50 }));
      const isFull = refusing(name, QueueFullError, "2 calls are waiting already");
      for (const options of [undefined, { timeout: 5 }]) await isFull(wait(options));
      // The checks come first, and a time-out of 0 is one.
      await assert.rejects(wait({ timeout: -1 }), RangeError);
      await assert.rejects(wait({ signal: AbortSignal.abort("gone") }), (reason) => reason === "gone");
      await assert.rejects(wait({ timeout: 0 }), TimeoutError);
      assert.equal(await states([first, second]), "pending pending");
      assert.equal(waiting(), 2);
      time.advance(50); // one leaves: there is room
      assert.equal(await states([first, second]), "pending rejected");
      const third = watch(wait());
      assert.equal(await states([third]), "pending");
      thing.cancel();
      assert.equal(await states([first, third]), "rejected rejected");
      await unblock();
    }));

  test(`${name}: maxWaiting is a whole number of 0 or more, or Infinity`, async () => {
    for (const maxWaiting of [-1, 1.5, NaN, -Infinity]) assert.throws(() => fresh({ maxWaiting }), RangeError);
    for (const wrong of ["1", null, 1n]) assert.throws(() => fresh({ maxWaiting: wrong as never }), TypeError);
    const none = await blocked({ maxWaiting: 0 });
    await assert.rejects(none.wait(), /^QueueFullError: Cannot .*: 0 calls are waiting already; maxWaiting is 0$/);
    const any = await blocked({ maxWaiting: Infinity });
    assert.equal(await states([watch(any.wait())]), "pending");
    for (const { thing, unblock } of [none, any]) {
      thing.cancel();
      await unblock();
    }
  });

  test(`${name}: observers see a refusal as a give-up with the outcome "full", and no wait`, async () => {
    const { thing, wait, unblock } = await blocked({ maxWaiting: 1 });
    const seen: string[] = [];
    {
      using _ = observe({
        wait: () => void seen.push("wait"),
        giveUp: ({ outcome }) => void seen.push(outcome),
      });
      const waits = watch(wait());
      await assert.rejects(wait(), QueueFullError);
      thing.cancel();
      await states([waits]);
    }
    assert.deepEqual(seen, ["wait", "full", "error"]);
    await unblock();
  });
}

/** Its calls of `tryAcquire`; those of a Condition are for its lock, which stays open. */
function attempts(name: string, thing: object): (() => unknown)[] {
  const { reader, writer } = thing as Record<string, object | undefined>;
  const things = [thing, reader, writer].filter((one) => one !== undefined && "tryAcquire" in one) as KeyedMutex[];
  if (name.startsWith("Condition")) return [];
  return things.map((one) => () =>
    name.startsWith("Keyed") ? one.tryAcquire("key") : (one as never as Lock).tryAcquire()
  );
}

function closes(name: string, { blocked }: Subject): void {
  test(`${name}: cancel rejects all waiters in order, in one step, and closes it for good`, async () => {
    const { thing, wait, waiting, unblock } = await blocked({ name: "orders" });
    const order: string[] = [];
    const watched = [1, 2, 3].map((id) => {
      const call = wait();
      call.catch((reason) => order.push(`${id} ${reason}`));
      return watch(call);
    });
    await flushMicrotasks();
    assert.deepEqual([thing.closed, waiting()], [false, 3]);
    thing.cancel("over");
    assert.deepEqual([thing.closed, waiting()], [true, 0]);
    assert.equal(await states(watched), "rejected rejected rejected");
    assert.deepEqual(order, ["1 over", "2 over", "3 over"]);
    thing.cancel("later"); // the first reason stays, and nothing happens
    const refused = refusing(name, ClosedError, "[a-z -]+ is closed");
    const isClosed = async () => {
      for (const options of [undefined, { timeout: 0 }, { signal: AbortSignal.abort("gone") }]) {
        await refused(wait(options));
      }
      await assert.rejects(wait({ timeout: NaN }), RangeError);
      for (const attempt of attempts(name, thing)) assert.throws(attempt, ClosedError);
    };
    await isClosed();
    await unblock(); // as usual
    await isClosed();
  });

  test(`${name}: cancel without a reason rejects with an AbortError; null is a reason`, async () => {
    for (const [args, expected] of [[[], "AbortError"], [[undefined], "AbortError"], [[null], undefined]] as const) {
      const { thing, wait, unblock } = await blocked();
      const waits = watch(wait());
      await flushMicrotasks();
      thing.cancel(...args);
      assert.equal(await states([waits]), "rejected");
      assert.equal((waits.reason as Error | null)?.name, expected);
      await unblock();
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
