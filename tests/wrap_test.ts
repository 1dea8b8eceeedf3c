/** `wrap`, on everything that has a `run` without a key, and the mistakes that are caught everywhere. */
import assert from "node:assert/strict";
import { acquireAll, KeyedMutex, KeyedRateLimiter, KeyedSemaphore, Lock, SetEvent, SingleFlight } from "../mod.ts";
import { memoryBackend } from "../lib/redis/mod.ts";
import { localKinds } from "./kinds/local.ts";
import { redisKinds } from "./kinds/redis.ts";
import { webKinds } from "./kinds/web.ts";
import { test } from "./_test.ts";
import { flushMicrotasks } from "./_tools.ts";
import { OwnLockManager } from "./web/_lock_manager.ts";

type Runner = Pick<Lock, "run" | "wrap">;

/** What has `run` and `wrap`: a thing itself, its sides, one of its keys. */
function runnersOf(thing: object): [part: string, runner: Runner][] {
  const { reader, writer, at } = thing as { reader?: Runner; writer?: Runner; at?: (key: string) => Runner };
  const parts = { "": thing as Runner, ".reader": reader, ".writer": writer, ".at": at?.call(thing, "key") };
  return Object.entries(parts).filter((part): part is [string, Runner] => part[1] !== undefined && "wrap" in part[1]);
}

const all = Object.entries({ ...localKinds, ...redisKinds, ...webKinds }).flatMap(([kind, { make }]) => {
  const fresh = () => runnersOf(make(undefined, { backend: memoryBackend(), locks: new OwnLockManager() }));
  return fresh().map(([part], index) => [`${kind}${part}`, () => fresh()[index]![1]] as const);
}).filter(([name]) => name !== "TaskGroup"); // a failure ends it: task_group_test.ts

for (const [name, make] of all) {
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
    assert.throws(() => make().wrap(5 as never), /TypeError: fn must be a function, such as .*, got 5/);
    assert.throws(() => make().wrap(function* () {}), /TypeError: fn must not be a generator function/);
    assert.throws(() => make().wrap(async function* () {}), /TypeError: fn must not be a generator function/);
  });

  test(`${name}.run: generator functions are refused`, async () => {
    await assert.rejects(make().run(function* () {}), /TypeError: fn must not be a generator function/);
    await assert.rejects(make().run(async function* () {}), /TypeError: fn must not be a generator function/);
  });

  test(`${name}.wrap: each call is a run`, async () => {
    const thing = make();
    const order: string[] = [];
    const shared = name.endsWith("RwLock.reader");
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
