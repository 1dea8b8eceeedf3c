/** `run` of everything that can be held: errors, odd results, and the stack of an error. */
import assert from "node:assert/strict";
import { BoundedSemaphore, KeyedMutex, Lock, Semaphore } from "../../mod.ts";
import { test } from "../_test.ts";
import { rejectsWith, states, watch } from "../_tools.ts";

test("run: the function's error wins over one of the release", async () => {
  const semaphore = new BoundedSemaphore(1);
  const error = new Error("of the function");
  const overRelease = () => semaphore.release(); // so that the guard's own release is an over-release
  for (const throws of [true, false]) {
    const run = semaphore.run(() => {
      overRelease();
      if (throws) throw error;
      return Promise.reject(error);
    });
    await rejectsWith(run, error);
    assert.equal(semaphore.value, 1);
  }
  await assert.rejects(semaphore.run(overRelease), RangeError);
  assert.equal(semaphore.value, 1);
});

test("run: odd results leave nothing held", async () => {
  const lock = new Lock();
  const error = new Error("odd");
  const getter = {
    get then() {
      throw error;
    },
  };
  const thrower = {
    then() {
      throw error;
    },
  };
  const twice = {
    then(resolve: (value: number) => void, reject: (reason: unknown) => void) {
      resolve(1);
      reject(error);
      throw error;
    },
  };
  for (const odd of [getter, thrower]) {
    await rejectsWith(lock.run(() => odd as never), error);
    assert.equal(lock.locked, false);
  }
  assert.equal(await lock.run(() => twice as PromiseLike<number>), 1);
  for (const value of [undefined, null, 0, "", { then: 5 }]) assert.equal(await lock.run(() => value), value);
  assert.equal(lock.locked, false);
});

test("run: the function is never called inside of the call of run, and gets the guard", async () => {
  for (const thing of [new Lock(), new Semaphore(2), new KeyedMutex<string>().at("key")]) {
    let held: boolean | undefined;
    const run = watch(thing.run((guard) => held = guard.held));
    assert.equal(held, undefined);
    assert.equal(thing.tryAcquire() === undefined, !(thing instanceof Semaphore), "it holds already");
    assert.equal(await states([run]), "fulfilled");
    assert.equal(held, true);
  }
});

test("run: the stack of an error shows the caller, sooner or later", async () => {
  const lock = new Lock();
  async function findsItselfInTheStack(fn: () => unknown) {
    await lock.run(fn);
  }
  for (
    const fn of [() => {
      throw new Error("sync");
    }, async () => {
      await undefined;
      throw new Error("async");
    }]
  ) {
    await assert.rejects(findsItselfInTheStack(fn), (error: Error) => /findsItselfInTheStack/.test(error.stack!));
  }
});
