import assert from "node:assert/strict";
import { acquireAll, KeyedSemaphore } from "../mod.ts";
import { logged } from "./_logged.ts";
import { test } from "./_test.ts";
import { states, watch } from "./_tools.ts";

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

test("keyed semaphore: a refused call makes no entry", async () => {
  const hosts = new KeyedSemaphore<string>(3);
  for (const permits of [0, 4, 1.5, NaN]) {
    await assert.rejects(hosts.acquire("new", { permits }), RangeError);
    assert.throws(() => hosts.tryAcquire("new", permits), RangeError);
  }
  await assert.rejects(hosts.acquire("new", { permits: "1" as never }), TypeError);
  assert.equal(hosts.size, 0);
});

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

test("keyed semaphore: arguments are checked", () => {
  for (const permits of [0, -1, 1.5, NaN, Infinity]) assert.throws(() => new KeyedSemaphore(permits), RangeError);
  for (const permits of [undefined, "1", null]) assert.throws(() => new KeyedSemaphore(permits as never), TypeError);
});
