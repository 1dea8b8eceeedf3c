/** Every local method that waits: the order of checks, reading of options, and odd signals. */
import assert from "node:assert/strict";
import {
  acquireAll,
  Barrier,
  BoundedSemaphore,
  BrokenBarrierError,
  Condition,
  Event,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  NotHeldError,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  TimeoutError,
  TimeoutLock,
  type WaitOptions,
} from "../mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, refusesBadOptions, rejectsWith, watch } from "./_tools.ts";

/** One method of one thing. */
interface Call {
  /** Makes the call. */
  readonly wait: (options?: WaitOptions) => Promise<unknown>;
  /** Makes later calls wait. */
  readonly block: () => void;
  /** Lets all waiting calls go, and those that come later. */
  readonly unblock: () => void | Promise<void>;
  /** The number of waiters. */
  readonly waiting: () => number;
}

const fn = () => "done";

/** A guard that is given back when it has been granted. */
async function passing(guard: Promise<{ release(): unknown }>): Promise<void> {
  (await guard).release();
}

function ofLock(lock: Lock): Record<string, Call> {
  const common = {
    block: () => void lock.tryAcquire(),
    unblock: () => lock.locked ? lock.release() : undefined,
    waiting: () => lock.waiting,
  };
  return {
    acquire: { ...common, wait: (options) => passing(lock.acquire(options)) },
    run: { ...common, wait: (options) => lock.run(fn, options) },
    acquireAll: { ...common, wait: (options) => passing(acquireAll([lock], options)) },
  };
}

function ofSemaphore(semaphore: Semaphore): Record<string, Call> {
  const common = {
    block: () => void semaphore.tryAcquire(),
    unblock: () => semaphore.value === 0 ? semaphore.release() : undefined,
    waiting: () => semaphore.waiting,
  };
  return {
    acquire: { ...common, wait: (options) => passing(semaphore.acquire(options)) },
    run: { ...common, wait: (options) => semaphore.run(fn, options) },
  };
}

function ofRw(pick: "reader" | "writer"): Record<string, Call> {
  const lock = new RwLock();
  const side = lock[pick];
  let guard: { release(): void } | undefined;
  const common = {
    block: () => guard = lock.writer.tryAcquire(),
    unblock: () => guard?.release(),
    waiting: () => side.waiting,
  };
  return {
    acquire: { ...common, wait: (options) => passing(side.acquire(options)) },
    run: { ...common, wait: (options) => side.run(fn, options) },
  };
}

function ofKeyed(): Record<string, Call> {
  const mutex = new KeyedMutex<string>();
  let guard: { release(): void } | undefined;
  const common = {
    block: () => guard = mutex.tryAcquire("key"),
    unblock: () => guard?.release(),
    waiting: () => mutex.waiting("key"),
  };
  return {
    acquire: { ...common, wait: (options) => passing(mutex.acquire("key", options)) },
    run: { ...common, wait: (options) => mutex.run("key", fn, options) },
    "at(key).acquire": { ...common, wait: (options) => passing(mutex.at("key").acquire(options)) },
    "at(key).run": { ...common, wait: (options) => mutex.at("key").run(fn, options) },
  };
}

function ofKeyedSemaphore(): Record<string, Call> {
  const semaphore = new KeyedSemaphore<string>(1);
  let guard: { release(): void } | undefined;
  const common = {
    block: () => guard = semaphore.tryAcquire("key"),
    unblock: () => guard?.release(),
    waiting: () => semaphore.waiting("key"),
  };
  return {
    acquire: { ...common, wait: (options) => passing(semaphore.acquire("key", options)) },
    run: { ...common, wait: (options) => semaphore.run("key", fn, options) },
    "at(key).acquire": { ...common, wait: (options) => passing(semaphore.at("key").acquire(options)) },
  };
}

function ofCondition(): Record<string, Call> {
  const lock = new Lock();
  const condition = new Condition(lock);
  const wait = (call: (options?: WaitOptions) => Promise<unknown>) => async (options?: WaitOptions) => {
    const guard = lock.tryAcquire() ?? await lock.acquire();
    try {
      return await call(options);
    } finally {
      guard.release();
    }
  };
  let ready = true;
  const common = {
    block: () => ready = false,
    unblock: async () => {
      ready = true;
      await condition.run(() => condition.notifyAll());
    },
    waiting: () => condition.waiting,
  };
  return { waitFor: { ...common, wait: wait((options) => condition.waitFor(() => ready, options)) } };
}

function ofLimiter(): Record<string, Call> {
  const limiter = new RateLimiter(1, 5);
  const common = { block: () => void limiter.tryAcquire(), unblock: () => {}, waiting: () => limiter.waiting };
  return {
    acquire: { ...common, wait: (options) => limiter.acquire(options) },
    run: { ...common, wait: (options) => limiter.run(fn, options) },
  };
}

function ofKeyedLimiter(): Record<string, Call> {
  const limiter = new KeyedRateLimiter<string>(1, 5);
  const common = {
    block: () => void limiter.tryAcquire("key"),
    unblock: () => {},
    waiting: () => limiter.waiting("key"),
  };
  return {
    acquire: { ...common, wait: (options) => limiter.acquire("key", options) },
    run: { ...common, wait: (options) => limiter.run("key", fn, options) },
  };
}

function ofQueue(): Record<string, Call> {
  const [full, empty] = [new Queue<number>(1), new Queue<number>(1)];
  full.tryPut(1);
  return {
    get: {
      wait: async (options) => full.tryPut(await full.get(options)),
      block: () => void full.tryGet(),
      unblock: () => void full.tryPut(1),
      waiting: () => full.getting,
    },
    put: {
      wait: async (options) => (await empty.put(1, options), empty.tryGet()),
      block: () => void empty.tryPut(1),
      unblock: () => void empty.tryGet(),
      waiting: () => empty.putting,
    },
  };
}

function ofEvents(): Record<string, Call> {
  const event = new Event();
  event.set();
  const set = new SetEvent<number>();
  const barrier = new Barrier(1);
  return {
    "Event.wait": {
      wait: (options) => event.wait(options),
      block: () => event.clear(),
      unblock: () => event.set(),
      waiting: () => event.waiting,
    },
    "SetEvent.wait": {
      wait: (options) => set.wait(options),
      block: () => void set.add(1),
      unblock: () => void set.delete(1),
      waiting: () => set.waiting,
    },
    "Barrier.wait": {
      wait: (options) => barrier.wait(options),
      block() {},
      unblock() {},
      waiting: () => barrier.waiting,
    },
  };
}

const makers: Record<string, () => Record<string, Call>> = {
  Lock: () => ofLock(new Lock()),
  TimeoutLock: () => ofLock(new TimeoutLock(60_000)),
  Semaphore: () => ofSemaphore(new Semaphore(1)),
  BoundedSemaphore: () => ofSemaphore(new BoundedSemaphore(1)),
  "RwLock.reader": () => ofRw("reader"),
  "RwLock.writer": () => ofRw("writer"),
  KeyedMutex: ofKeyed,
  KeyedSemaphore: ofKeyedSemaphore,
  Condition: ofCondition,
  RateLimiter: ofLimiter,
  KeyedRateLimiter: ofKeyedLimiter,
  Queue: ofQueue,
  "": ofEvents,
};

/** Registers one test for each method. */
function eachCall(what: string, check: (call: Call) => Promise<void>): void {
  for (const [type, make] of Object.entries(makers)) {
    for (const method of Object.keys(make())) {
      test(`waiting calls: ${[type, method].filter(Boolean).join(".")} ${what}`, () => check(make()[method]!));
    }
  }
}

eachCall(
  "rejects for a signal that is aborted, also when it need not wait, with the reason itself",
  async ({ wait }) => {
    for (const reason of [new Error("mine"), "text", null, 0, new TimeoutError("mine")]) {
      await rejectsWith(wait({ signal: AbortSignal.abort(reason) }), reason);
    }
    await wait();
  },
);

eachCall("reads its options once", async ({ wait, block, unblock, waiting }) => {
  for (const blocked of [false, true]) {
    if (blocked) block();
    const reads = { signal: 0, timeout: 0 };
    const { signal } = new AbortController();
    const options: WaitOptions = {
      get signal() {
        return ++reads.signal === 1 ? signal : AbortSignal.abort();
      },
      get timeout() {
        return ++reads.timeout === 1 ? 60_000 : NaN;
      },
    };
    const call = watch(wait(options));
    await flushMicrotasks();
    await unblock();
    await call.promise;
    assert.deepEqual(reads, { signal: 1, timeout: 1 });
    assert.equal(waiting(), 0);
  }
});

eachCall("is not affected by a change of its options", async ({ wait, block, unblock }) => {
  block();
  const options: { timeout?: number; signal?: AbortSignal } = { timeout: 60_000 };
  const call = wait(options);
  options.timeout = 0;
  options.signal = AbortSignal.abort();
  await flushMicrotasks();
  await unblock();
  await call;
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
  assert.equal(waiting(), 0);
  await wait();
});

eachCall("ends for the signal of a polyfill that has functions only as listeners, and no reason", async (call) => {
  const { wait, block, waiting } = call;
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    addEventListener: (_: string, listener: () => void) => void listeners.add(listener),
    removeEventListener: (_: string, listener: () => void) => void listeners.delete(listener),
  };
  block();
  const watched = watch(wait({ signal: signal as never }));
  await flushMicrotasks();
  signal.aborted = true;
  for (const listener of [...listeners]) listener();
  await watched.promise.catch((error: Error) => assert.equal(error.name, "AbortError"));
  assert.deepEqual([waiting(), listeners.size], [0, 0]);
});

test("waiting calls: bad arguments win over the state, the state over the signal", async () => {
  const aborted = { signal: AbortSignal.abort() };
  const condition = new Condition();
  await assert.rejects(condition.wait({ ...aborted, timeout: -1 }), RangeError);
  await assert.rejects(condition.wait(aborted), NotHeldError);
  await assert.rejects(condition.wait({ timeout: 0 }), NotHeldError);
  await assert.rejects(condition.waitFor(5 as never, aborted), TypeError);
  await assert.rejects(condition.waitFor(() => true, { ...aborted, timeout: NaN }), RangeError);
  await assert.rejects(condition.waitFor(() => true, aborted), NotHeldError);
  assert.throws(() => condition.notify(-1), RangeError);
  assert.throws(() => condition.notify("1" as never), TypeError);
  const barrier = new Barrier(2);
  barrier.abort();
  await assert.rejects(barrier.wait({ ...aborted, timeout: "5" as never }), TypeError);
  await assert.rejects(barrier.wait(aborted), BrokenBarrierError);
  await assert.rejects(barrier.wait({ timeout: 0 }), BrokenBarrierError);
  const semaphore = new BoundedSemaphore(2);
  for (const permits of [0, 3, NaN, -1]) await assert.rejects(semaphore.acquire({ ...aborted, permits }), RangeError);
  await assert.rejects(semaphore.acquire({ ...aborted, permits: "1" as never }), TypeError);
  const limiter = new RateLimiter(2, 10);
  for (const permits of [0, 3]) await assert.rejects(limiter.acquire({ ...aborted, permits }), RangeError);
  for (const thing of [new Lock(), new Semaphore(), new RwLock().reader, new KeyedMutex().at(1), limiter, condition]) {
    await assert.rejects(thing.run(undefined as never, aborted), TypeError);
    await assert.rejects(thing.run(undefined as never, { timeout: -1 }), TypeError);
  }
  const lock = new Lock();
  await assert.rejects(acquireAll([lock, lock], aborted), TypeError);
  await assert.rejects(acquireAll([lock, condition], aborted), TypeError);
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
