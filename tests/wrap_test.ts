/** `wrap`, on everything local that has a `run` without a key, and the mistakes that are caught everywhere. */
import assert from "node:assert/strict";
import {
  acquireAll,
  BoundedSemaphore,
  Condition,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  SingleFlight,
  TimeoutLock,
} from "../mod.ts";
import {
  memoryBackend,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "../lib/redis/mod.ts";
import { WebLock, WebRwLock } from "../lib/web/mod.ts";
import { flushMicrotasks } from "./_tools.ts";
import { test } from "./_test.ts";

/** A lock manager that grants everything. */
const locks = {
  request: (_name: string, _options: unknown, fn: (lock: unknown) => unknown) => Promise.resolve(fn({})),
  query: () => Promise.resolve({ held: [], pending: [] }),
};

const OFF = { renew: false };

const local = {
  "Lock": () => new Lock(),
  "TimeoutLock": () => new TimeoutLock(1000),
  "Semaphore": () => new Semaphore(1),
  "BoundedSemaphore": () => new BoundedSemaphore(1),
  "Condition": () => new Condition(),
  "Pool": () => new Pool(1),
  "RwLock.reader": () => new RwLock().reader,
  "RwLock.writer": () => new RwLock().writer,
  "KeyedMutex.at": () => new KeyedMutex().at("a"),
  "KeyedSemaphore.at": () => new KeyedSemaphore(1).at("a"),
};
const all = {
  ...local,
  "RateLimiter": () => new RateLimiter(10, 1000),
  "WebLock": () => new WebLock("a", { locks }),
  "WebRwLock.reader": () => new WebRwLock("a", { locks }).reader,
  "RedisLock": () => new RedisLock(memoryBackend(), "a", OFF),
  "RedisSemaphore": () => new RedisSemaphore(memoryBackend(), "a", 1, OFF),
  "RedisKeyedMutex.at": () => new RedisKeyedMutex(memoryBackend(), OFF).at("a"),
  "RedisRwLock.reader": () => new RedisRwLock(memoryBackend(), "a", OFF).reader,
  "RedisRateLimiter": () => new RedisRateLimiter(memoryBackend(), "a", 5, 1000),
  "RedisRwLock.writer": () => new RedisRwLock(memoryBackend(), "a", OFF).writer,
  "WebRwLock.writer": () => new WebRwLock("a", { locks }).writer,
};

for (const [name, make] of Object.entries(all)) {
  test(`${name}.wrap: keeps this, parameters, result, name and length`, async () => {
    const thing = make();
    const account = { balance: 1, add: thing.wrap(add) };
    function add(this: { balance: number }, ...amounts: [number, string]): string {
      this.balance += amounts[0];
      return `${amounts.length} ${amounts[1]} ${this.balance}`;
    }
    assert.equal(await account.add(2, "x"), "2 x 3");
    assert.equal(account.add.name, "add");
    assert.equal(account.add.length, add.length);
    const fail = thing.wrap(() => Promise.reject(new RangeError("from fn")));
    await assert.rejects(fail(), /RangeError: from fn/);
    assert.equal(await thing.wrap((...args: unknown[]) => args.length)(), 0); // no guard, no signal
    await thing.run(() => {}); // nothing is held
  });

  test(`${name}.wrap: what is no plain function is refused at once`, () => {
    assert.throws(() => make().wrap(5 as never), /TypeError: fn must be a function, got 5/);
    assert.throws(() => make().wrap(function* () {}), /TypeError: fn must not be a generator function/);
    assert.throws(() => make().wrap(async function* () {}), /TypeError: fn must not be a generator function/);
  });

  test(`${name}.run: generator functions are refused`, async () => {
    await assert.rejects(make().run(function* () {}), /TypeError: fn must not be a generator function/);
    await assert.rejects(make().run(async function* () {}), /TypeError: fn must not be a generator function/);
  });
}

for (const [name, make] of Object.entries(local)) {
  test(`${name}.wrap: each call is a run`, async () => {
    const thing = make();
    const order: string[] = [];
    const shared = name === "RwLock.reader";
    const work = thing.wrap(async (one: string) => {
      order.push(`+${one}`);
      await flushMicrotasks();
      order.push(`-${one}`);
    });
    await Promise.all([work("a"), work("b")]);
    assert.deepEqual(order, shared ? ["+a", "+b", "-a", "-b"] : ["+a", "-a", "+b", "-b"]);
  });
}

/** The calls with a key, first those that return a promise. */
const keyed: [object, string[], string[]][] = [
  [new KeyedMutex(), ["acquire", "run"], ["tryAcquire", "at", "locked", "waiting"]],
  [new KeyedSemaphore(1), ["acquire", "run"], ["tryAcquire", "at", "locked", "waiting", "value"]],
  [
    new KeyedRateLimiter(1, 100),
    ["acquire", "run"],
    ["tryAcquire", "retryAfter", "waiting", "remaining", "reward", "penalty", "block"],
  ],
  [new SingleFlight(), ["run"], ["has", "forget"]],
];

for (const [thing, waiting, others] of keyed) {
  test(`${thing.constructor.name}: the key comes first`, async () => {
    const message = /^TypeError: key must be neither undefined nor a function: the key comes first, got /;
    const calls = thing as Record<string, (...args: unknown[]) => unknown>;
    for (const key of [() => {}, undefined]) {
      for (const call of waiting) {
        await assert.rejects(calls[call]!.call(thing, key, () => 1) as Promise<void>, message);
      }
      for (const call of others) assert.throws(() => calls[call]!.call(thing, key, 1), message);
    }
    await assert.rejects(
      calls.run!.call(thing, "a", function* () {}) as Promise<void>,
      /must not be a generator function/,
    );
    assert.equal((thing as { size: number }).size, 0);
  });
}

test("a promise in place of a list: await it first", async () => {
  const list = Promise.resolve([new Lock()]);
  await assert.rejects(acquireAll(list as never), /TypeError: list must not be a promise: await it first/);
  assert.throws(() => new SetEvent(list as never), /TypeError: members must not be a promise: await it first/);
});
