/** Every method that waits: the order of checks, reading of options, and odd signals. */
import assert from "node:assert/strict";
import {
  BoundedSemaphore,
  Condition,
  KeyedMutex,
  Lock,
  RateLimiter,
  RwLock,
  Semaphore,
  TimeoutError,
  type WaitOptions,
} from "../mod.ts";
import { ForeignSignal } from "./_foreign_signal.ts";
import { memoryBackend } from "../lib/redis/mod.ts";
import type { Call } from "./kinds/kind.ts";
import { localKinds } from "./kinds/local.ts";
import { redisKinds } from "./kinds/redis.ts";
import { webKinds } from "./kinds/web.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, refusesBadOptions, rejectsWith, watch } from "./_tools.ts";
import { OwnLockManager } from "./web/_lock_manager.ts";

const fn = () => "done";

/** Registers one test for each method that waits, of each kind. */
function eachCall(what: string, check: (call: Call) => Promise<void>): void {
  for (const [name, { make, calls }] of Object.entries({ ...localKinds, ...redisKinds, ...webKinds })) {
    const fresh = () => calls(make(undefined, { backend: memoryBackend(), locks: new OwnLockManager() }));
    for (const method of Object.keys(fresh())) {
      test(`waiting calls: ${name}.${method} ${what}`, () => check(fresh()[method]!));
    }
  }
}

eachCall(
  "rejects for a signal that is aborted, also when it need not wait, with the reason itself",
  async ({ wait }) => {
    for (const reason of [new Error("mine"), "text", null, 0, new TimeoutError("mine")]) {
      const signal = AbortSignal.abort(reason);
      for (const options of [{ signal }, { signal, timeout: 0 }]) await rejectsWith(wait(options), reason);
    }
    const polyfilled = Object.assign(new EventTarget(), { aborted: true }) as AbortSignal; // without a reason
    for (const timeout of [0, Infinity]) {
      await assert.rejects(wait({ signal: polyfilled, timeout }), { name: "AbortError" });
    }
    await wait();
  },
);

eachCall("reads its options once, in the call", async ({ wait, block, waiting }) => {
  for (const blocked of [false, true]) {
    const unblock = blocked ? await block?.() : undefined;
    const reads = { signal: 0, timeout: 0 };
    const { signal } = new AbortController();
    let isCalled = false;
    const options: WaitOptions = {
      get signal() {
        return ++reads.signal === 1 && !isCalled ? signal : AbortSignal.abort();
      },
      get timeout() {
        return ++reads.timeout === 1 && !isCalled ? 60_000 : NaN;
      },
    };
    const call = watch(wait(options));
    isCalled = true;
    await flushMicrotasks();
    await unblock?.();
    await call.promise;
    assert.deepEqual(reads, { signal: 1, timeout: 1 });
    assert.equal(waiting?.() ?? 0, 0);
  }
});

eachCall("rejects, and does not throw, for options that cannot be read or are wrong", async ({ wait, waiting }) => {
  const error = new Error("getter");
  const throwing = (name: string) =>
    Object.defineProperty({}, name, {
      get: () => {
        throw error;
      },
    }) as WaitOptions;
  for (const name of ["signal", "timeout"]) await rejectsWith(wait(throwing(name)), error);
  await refusesBadOptions((options) => wait(options));
  const { aborted, addEventListener } = new AbortController().signal;
  const incomplete = [{ aborted, addEventListener }, { aborted, removeEventListener: addEventListener }, {
    addEventListener,
    removeEventListener: addEventListener,
  }];
  for (const signal of incomplete) {
    await assert.rejects(wait({ signal: signal as never }), /TypeError: signal must be an AbortSignal/);
  }
  await rejectsWith(wait({ signal: throwing("aborted") as never }), error);
  assert.equal(waiting?.() ?? 0, 0);
  await wait();
});

eachCall("ends for the signal of a polyfill that has functions only as listeners, and no reason", async (call) => {
  const { wait, block, waiting } = call;
  const signal = Object.assign(new ForeignSignal() as Omit<ForeignSignal, "reason">, { reason: undefined });
  const unblock = await block?.();
  const watched = watch(wait({ signal: signal as never }));
  await flushMicrotasks();
  signal.abort();
  await watched.promise.catch((error: Error) => assert.equal(error.name, "AbortError"));
  assert.deepEqual([waiting?.() ?? 0, signal.listeners.size], [0, 0]);
  await unblock?.();
});

test("waiting calls: bad arguments win over the signal", async () => {
  const aborted = { signal: AbortSignal.abort() };
  const limiter = new RateLimiter(2, 10);
  for (const thing of [new BoundedSemaphore(2), limiter]) {
    for (const permits of [0, 3]) await assert.rejects(thing.acquire({ ...aborted, permits }), RangeError);
    await assert.rejects(thing.acquire({ ...aborted, permits: "1" as never }), TypeError);
  }
  const holdable = [new Lock(), new Semaphore(), new RwLock().reader, new KeyedMutex().at(1), new Condition()];
  for (const thing of [...holdable, limiter]) {
    await assert.rejects(thing.run(undefined as never, aborted), TypeError);
    await assert.rejects(thing.run(undefined as never, { timeout: -1 }), TypeError);
  }
});

test("waiting calls: permits are read once", async () => {
  for (const thing of [new Semaphore(2), new BoundedSemaphore(2), new RateLimiter(2, 5)]) {
    let reads = 0;
    const options = {
      get permits() {
        return ++reads === 1 ? 2 : NaN;
      },
    };
    await thing.acquire(options);
    assert.equal(reads, 1);
    reads = 0;
    if (thing instanceof Semaphore) thing.release(2);
    await thing.run(fn, options);
    assert.equal(reads, 1);
  }
});
