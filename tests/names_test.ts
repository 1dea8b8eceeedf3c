/** Names of everything local: in the getter and in messages. */
import assert from "node:assert/strict";
import {
  type Acquirable,
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  type Guard,
  KeyedMutex,
  Lock,
  type NameOptions,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  TimeoutLock,
} from "../mod.ts";
import { localKinds } from "./kinds/local.ts";
import { test } from "./_test.ts";

type Named = (options?: NameOptions) => { readonly name: string | undefined };

for (const [type, kind] of Object.entries(localKinds).filter(([, { hasName = true }]) => hasName)) {
  test(`names: ${type} has the name that it was given`, () => {
    const make = kind.make as Named;
    assert.equal(make({ name: "orders" }).name, "orders");
    for (const options of [undefined, {}, { name: undefined }]) assert.equal(make(options).name, undefined);
    assert.equal(make({ name: "" }).name, "");
    for (const wrong of [5, null, Symbol("x"), {}, ["a"], new String("a")]) {
      assert.throws(() => make({ name: wrong as never }), /TypeError: name must be a string/);
    }
    for (const wrong of [null, 5, "orders", () => {}]) {
      assert.throws(() => make(wrong as never), /TypeError: options must be an object/);
    }
    const changing = { name: "before" };
    const made = make(changing);
    changing.name = "after";
    assert.equal(made.name, "before");
    assert.throws(() => Object.assign(made, { name: "other" }), TypeError);
  });
}

/** The message of an error, with its class. */
async function failing(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return String(error);
  }
  return assert.fail("no error");
}

test("names: messages show the name, and are as before without one", async () => {
  const held = async <T extends Acquirable<Guard>>(thing: T) => (await thing.acquire(), thing);
  const late = { timeout: 0 };
  for (const [options, text] of [[{ name: "orders" }, ' "orders"'], [{}, ""]] as const) {
    const keyed = new KeyedMutex<number>(options);
    const rw = new RwLock(options);
    const broken = new Barrier(2, options);
    const limiter = new RateLimiter(1, 60_000, options);
    const condition = new Condition(new Lock({ name: "of condition" }), options);
    broken.abort();
    limiter.tryAcquire();
    const timedOut: [() => Promise<unknown>, string][] = [
      [async () => (await held(new Lock(options))).acquire(late), `acquire lock${text}`],
      [async () => (await held(new TimeoutLock(0, options))).acquire(), `acquire lock${text}`],
      [async () => (await held(new Semaphore(1, options))).acquire(late), `acquire semaphore${text}`],
      [() => new Event(options).wait(late), `wait for event${text}`],
      [() => new SetEvent([1], options).wait(late), `wait for empty set${text}`],
      [() => new Barrier(2, options).wait(late), `wait at barrier${text}`],
      [() => condition.run(() => condition.wait(late)), `wait for condition${text}`],
      [() => limiter.acquire(late), `acquire rate limiter${text}`],
      [async () => (await held(rw.reader), rw.writer.acquire(late)), `acquire writer side${text}`],
      [async () => (await held(new RwLock(options).writer)).acquire(late), `acquire writer side${text}`],
      [async () => (await held(keyed.at(42)), keyed.acquire(42, late)), `acquire lock${text} for key 42`],
    ];
    for (const [call, what] of timedOut) {
      assert.equal(await failing(call), `TimeoutError: Cannot ${what}: timed out after 0 ms`);
    }
    const notHeld: [() => unknown, string][] = [
      [() => new Lock(options).release(), `release lock${text}`],
      [() => condition.wait(), `wait for condition${text}`],
      [() => condition.waitFor(() => true), `wait for condition${text}`],
      [() => condition.notify(), `notify condition${text}`],
      [() => condition.notifyAll(), `notify condition${text}`],
      [() => condition.release(), 'release lock "of condition"'],
      [() => new Condition(undefined, options).release(), `release lock${text}`],
    ];
    for (const [call, what] of notHeld) {
      assert.equal(await failing(call), `NotHeldError: Cannot ${what}: lock is not held`);
    }
    assert.equal(
      await failing(() => new BoundedSemaphore(1, options).release()),
      `RangeError: Cannot release semaphore${text}: 1 of 1 permits are free, 1 more would exceed the limit`,
    );
    const isBroken = `BrokenBarrierError: Cannot wait at barrier${text}: barrier is broken`;
    assert.equal(await failing(() => broken.wait()), isBroken);
  }
});

test("names: a time-out that is not a whole number is rounded", async () => {
  const lock = new Lock();
  using _ = await lock.acquire();
  for (const [timeout, text] of [[1 / 3, "0.3"], [0.5, "0.5"], [2 - 2 ** -40, "2"]] as const) {
    assert.equal(
      await failing(() => lock.acquire({ timeout })),
      `TimeoutError: Cannot acquire lock: timed out after ${text} ms`,
    );
  }
});

test("names: KeyedMutex quotes the key and cuts it at 60 characters", async () => {
  const keys: [unknown, string][] = [
    ["42", '"42"'],
    [42, "42"],
    ["x".repeat(60), `"${"x".repeat(60)}"`],
    ["x".repeat(61), `"${"x".repeat(60)}…"`],
    [10n ** 100n, `1${"0".repeat(59)}…`],
  ];
  for (const [key, text] of keys) {
    const mutex = new KeyedMutex<unknown>({ name: "users" });
    await mutex.acquire(key);
    const message = await failing(() => mutex.acquire(key, { timeout: 0 }));
    assert.equal(message, `TimeoutError: Cannot acquire lock "users" for key ${text}: timed out after 0 ms`);
  }
});

test("names: a long name is cut in messages only", async () => {
  const name = "n".repeat(100);
  const lock = new Lock({ name });
  assert.equal(lock.name, name);
  assert.equal(
    await failing(() => lock.release()),
    `NotHeldError: Cannot release lock "${"n".repeat(60)}…": lock is not held`,
  );
});
