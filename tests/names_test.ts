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
  const held = async (thing: Acquirable<Guard>) => (await thing.acquire(), thing);
  const timeout = 0;
  for (const [options, text] of [[{ name: "orders" }, ' "orders"'], [{}, ""]] as const) {
    const keyed = new KeyedMutex<number>(options);
    const rw = new RwLock(options);
    const broken = new Barrier(2, options);
    const limiter = new RateLimiter(1, 60_000, options);
    const conditionLock = new Lock({ name: "of condition" });
    const condition = new Condition(conditionLock, options);
    broken.abort();
    limiter.tryAcquire();
    const expected: [() => unknown, string][] = [
      [
        async () => (await held(new Lock(options))).acquire({ timeout }),
        `TimeoutError: Cannot acquire lock${text}: timed out after 0 ms`,
      ],
      [() => new Lock(options).release(), `NotHeldError: Cannot release lock${text}: lock is not held`],
      [
        async () => (await held(new TimeoutLock(1, options))).acquire(),
        `TimeoutError: Cannot acquire lock${text}: timed out after 1 ms`,
      ],
      [
        async () => (await held(new Semaphore(1, options))).acquire({ timeout }),
        `TimeoutError: Cannot acquire semaphore${text}: timed out after 0 ms`,
      ],
      [
        () => new BoundedSemaphore(1, options).release(),
        `RangeError: Cannot release semaphore${text}: 1 of 1 permits are free, 1 more would exceed the limit`,
      ],
      [() => new Event(options).wait({ timeout }), `TimeoutError: Cannot wait for event${text}: timed out after 0 ms`],
      [
        () => new SetEvent([1], options).wait({ timeout }),
        `TimeoutError: Cannot wait for empty set${text}: timed out after 0 ms`,
      ],
      [
        () => new Barrier(2, options).wait({ timeout }),
        `TimeoutError: Cannot wait at barrier${text}: timed out after 0 ms`,
      ],
      [() => broken.wait(), `BrokenBarrierError: Cannot wait at barrier${text}: barrier is broken`],
      [() => condition.wait(), `NotHeldError: Cannot wait for condition${text}: lock is not held`],
      [() => condition.waitFor(() => true), `NotHeldError: Cannot wait for condition${text}: lock is not held`],
      [() => condition.notify(), `NotHeldError: Cannot notify condition${text}: lock is not held`],
      [() => condition.notifyAll(), `NotHeldError: Cannot notify condition${text}: lock is not held`],
      [() => condition.release(), `NotHeldError: Cannot release lock "of condition": lock is not held`],
      [() => new Condition(undefined, options).release(), `NotHeldError: Cannot release lock${text}: lock is not held`],
      [
        () => condition.run(() => condition.wait({ timeout })),
        `TimeoutError: Cannot wait for condition${text}: timed out after 0 ms`,
      ],
      [() => limiter.acquire({ timeout }), `TimeoutError: Cannot acquire rate limiter${text}: timed out after 0 ms`],
      [
        async () => (await held(rw.reader), rw.writer.acquire({ timeout })),
        `TimeoutError: Cannot acquire writer side${text}: timed out after 0 ms`,
      ],
      [
        async () => (await held(new RwLock(options).writer)).acquire({ timeout }),
        `TimeoutError: Cannot acquire writer side${text}: timed out after 0 ms`,
      ],
      [
        async () => (await held(keyed.at(42)), keyed.acquire(42, { timeout })),
        `TimeoutError: Cannot acquire lock${text} for key 42: timed out after 0 ms`,
      ],
    ];
    for (const [call, message] of expected) assert.equal(await failing(call), message);
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
  const long = "x".repeat(61);
  const keys: [unknown, string][] = [
    ["42", '"42"'],
    [42, "42"],
    [42n, "42n"],
    [null, "null"],
    [Symbol("s"), "Symbol(s)"],
    ["x".repeat(60), `"${"x".repeat(60)}"`],
    [long, `"${"x".repeat(60)}…"`],
    [10n ** 100n, `1${"0".repeat(59)}…`],
    ["two\nlines", '"two\\nlines"'],
    [{}, "an object (Object)"],
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
