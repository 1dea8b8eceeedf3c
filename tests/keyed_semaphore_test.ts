import assert from "node:assert/strict";
import { acquireAll, ClosedError, type Guard, KeyedSemaphore, TimeoutError } from "../mod.ts";
import { assertSoundKeyedSemaphore } from "./sound/keyed_semaphore.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { logged } from "./_logged.ts";
import { deeply } from "./_random.ts";
import { test } from "./_test.ts";
import { CountingController, flushMicrotasks, seeded, states, watch } from "./_tools.ts";

test("keyed semaphore: at most n hold each key, and entries live only while they are used", async () => {
  const hosts = new KeyedSemaphore<string>(2);
  const [a, b] = [hosts.tryAcquire("x")!, await hosts.acquire("x")];
  const waiting = watch(hosts.acquire("x"));
  const other = await hosts.acquire("y");
  assert.deepEqual([hosts.size, hosts.value("x"), hosts.value("y"), hosts.value("z")], [2, 0, 1, 2]);
  assert.deepEqual([hosts.locked("x"), hosts.locked("y"), hosts.locked("z")], [true, false, false]);
  assert.deepEqual([hosts.waiting("x"), hosts.waiting("z"), hosts.tryAcquire("x")], [1, 0, undefined]);
  a.release();
  a.release();
  assert.equal(await states([waiting]), "fulfilled");
  assert.equal(hosts.value("x"), 0);
  for (const guard of [b, waiting.value!, other]) guard.release();
  assert.equal(hosts.size, 0);
});

test("keyed semaphore: keys are compared as in a Map", () => {
  const semaphore = new KeyedSemaphore<unknown>(1);
  const object = {};
  for (const key of [NaN, 1, "1", object, null]) assert.ok(semaphore.tryAcquire(key));
  for (const key of [NaN, 1, object, null]) assert.equal(semaphore.tryAcquire(key), undefined);
  assert.ok(semaphore.tryAcquire({}));
});

test("keyed semaphore: permits, of which large requests are not overtaken", async () => {
  const hosts = new KeyedSemaphore<string>(3);
  const first = await hosts.acquire("x", { permits: 2 });
  const large = watch(hosts.acquire("x", { permits: 3 }));
  const small = watch(hosts.acquire("x"));
  assert.equal(hosts.tryAcquire("x"), undefined);
  assert.equal(await states([large, small]), "pending pending");
  first.release();
  assert.equal(await states([large, small]), "fulfilled pending");
  large.value!.release();
  assert.equal(await states([small]), "fulfilled");
  assert.equal(hosts.value("x"), 2);
  for (const permits of [0, 4, 1.5, NaN]) {
    await assert.rejects(hosts.acquire("x", { permits }), RangeError);
    assert.throws(() => hosts.tryAcquire("new", permits), RangeError);
  }
  await assert.rejects(hosts.acquire("new", { permits: "1" as never }), TypeError);
  assert.equal(hosts.size, 1, "a refused call makes no entry");
});

for (const isBefore of [true, false]) {
  test(`keyed semaphore: the middle one of three is aborted ${isBefore ? "before" : "after"} the release`, async () => {
    const hosts = new KeyedSemaphore<string>(2);
    const holder = await hosts.acquire("x", { permits: 2 });
    const controller = new CountingController();
    const calls = [undefined, { signal: controller.signal, permits: 2 }, undefined].map((options) =>
      watch(hosts.acquire("x", options))
    );
    if (isBefore) controller.abort("enough");
    holder.release();
    if (!isBefore) controller.abort("enough");
    assert.equal(await states(calls), "fulfilled rejected fulfilled");
    assert.equal(controller.listeners, 0);
    assertSoundKeyedSemaphore(hosts);
    for (const { value } of calls) value?.release();
    assert.equal(hosts.size, 0);
  });
}

test("keyed semaphore: run, at and acquireAll", async () => {
  const hosts = new KeyedSemaphore<string>(2, { name: "hosts" });
  const one = hosts.at("x");
  assert.equal(await hosts.run("x", () => one.value), 1);
  assert.equal(await one.run((guard) => guard.held && one.locked, { permits: 2 }), true);
  await assert.rejects(hosts.run("x", () => Promise.reject(new Error("failed"))), /failed/);
  const group = await acquireAll([one, hosts.at("y")]);
  assert.deepEqual([hosts.size, one.value, one.waiting, one.name, one.key], [2, 1, 0, "hosts", "x"]);
  await assert.rejects(acquireAll([hosts.at("x"), one]), /TypeError: list\[1\] must not be the same as list\[0\]/);
  assert.equal(logged(one), "KeyedPermits { name: 'hosts', key: 'x', value: 1, locked: false, waiting: 0 }");
  const second = one.tryAcquire()!;
  assert.deepEqual([one.locked, one.tryAcquire(2)], [true, undefined]);
  second.release();
  await group.release();
  assert.equal(hosts.size, 0);
});

test("keyed semaphore: messages name the key", async () => {
  const hosts = new KeyedSemaphore<unknown>(1, { name: "hosts" });
  hosts.tryAcquire(42);
  await assert.rejects(hosts.acquire(42, { timeout: 0 }), (error: Error) => {
    assert.equal(error.message, 'Cannot acquire semaphore "hosts" for key 42: timed out after 0 ms');
    return error instanceof TimeoutError;
  });
  hosts.cancel();
  await assert.rejects(hosts.acquire("x"), (error: Error) => {
    assert.equal(error.message, 'Cannot acquire semaphore "hosts" for key "x": semaphore is closed');
    return error instanceof ClosedError;
  });
});

test("keyed semaphore: arguments are checked", () => {
  for (const permits of [0, -1, 1.5, NaN, Infinity]) assert.throws(() => new KeyedSemaphore(permits), RangeError);
  for (const permits of [undefined, "1", null]) assert.throws(() => new KeyedSemaphore(permits as never), TypeError);
});

test("keyed semaphore: events have the kind key", async () => {
  const hosts = new KeyedSemaphore<string>(1, { name: "hosts" });
  const events: string[] = [];
  using _ = observe({
    wait: ({ kind, name, key }) => void events.push(`wait ${kind} ${name} ${key}`),
    grant: ({ permits }) => void events.push(`grant ${permits}`),
    release: () => {
      events.push("release");
      assertSoundKeyedSemaphore(hosts);
    },
  });
  const guard = await hosts.acquire("x");
  const next = hosts.acquire("x");
  guard.release();
  (await next).release();
  assert.deepEqual(events, ["grant 1", "wait key hosts x", "release", "grant 1", "release"]);
});

test("keyed semaphore: 100,000 keys leave nothing", () => {
  const hosts = new KeyedSemaphore<number>(2);
  for (let key = 0; key < deeply(10_000, 100_000); key++) hosts.tryAcquire(key)!.release();
  assert.equal(hosts.size, 0);
});

test("keyed semaphore: a random load never lets more in, and leaves no entry", () =>
  seeded(async (random) => {
    const limit = 3;
    const hosts = new KeyedSemaphore<number>(limit);
    const inside = [0, 0, 0, 0];
    const held: { readonly guard: Guard; readonly key: number; readonly permits: number }[] = [];
    const all: Promise<void>[] = [];
    for (let step = 0; step < 4000; step++) {
      const key = random.below(4);
      const permits = 1 + random.below(limit);
      const controller = random.below(3) === 0 ? new AbortController() : undefined;
      const timeout = random.pick([0, Infinity, Infinity]);
      const enter = (guard: Guard) => {
        inside[key]! += permits;
        assert.ok(inside[key]! <= limit, `${inside[key]} permits in use`);
        held.push({ guard, key, permits });
      };
      if (random.below(4) > 0) {
        all.push(hosts.acquire(key, { permits, timeout, signal: controller?.signal }).then(enter, () => {}));
      } else {
        const guard = hosts.tryAcquire(key, permits);
        if (guard !== undefined) enter(guard);
      }
      if (random.below(2) === 0) controller?.abort();
      await flushMicrotasks();
      for (let i = random.below(3); i > 0 && held.length > 0; i--) {
        const [one] = held.splice(random.below(held.length), 1);
        inside[one!.key]! -= one!.permits;
        one!.guard.release();
      }
      await flushMicrotasks();
      assertSoundKeyedSemaphore(hosts);
    }
    while (held.length > 0) {
      const one = held.pop()!;
      inside[one.key]! -= one.permits;
      one.guard.release();
      await flushMicrotasks();
    }
    await Promise.all(all);
    assert.equal(hosts.size, 0);
  }));
