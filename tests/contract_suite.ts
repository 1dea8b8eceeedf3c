/**
 * The contract of everything that can be held, local or remote, as tests over a factory. The subject must have room for one
 * holder.
 */
import assert from "node:assert/strict";
import { type Acquirable, acquireAll, Lock, TimeoutError, type WaitOptions } from "../mod.ts";
import { test } from "./_test.ts";
import { Ledger } from "./diagnostics/_ledger.ts";
import { CountingController, flushMicrotasks, nextTurn, rejectsWith, until, watch, type Watched } from "./_tools.ts";

/** The common part of guards and leases. */
export interface AnyGuard extends AsyncDisposable {
  readonly held: boolean;
  release(): unknown;
}

/** One thing under test. */
export interface Subject<G extends AnyGuard> {
  readonly lock: Acquirable<G>;
  /** How many are in line. */
  waiting(): number | Promise<number>;
  /** Ends what belongs to the subject only. */
  close?(): Promise<void>;
}

/** How to make one. */
export interface SubjectFactory<G extends AnyGuard> {
  readonly name: string;
  make(): Subject<G> | Promise<Subject<G>>;
  /** Whether `acquireAll` can acquire it. Default: true. */
  readonly hasPlace?: boolean;
  /** Milliseconds that are enough to come to stand in line. */
  readonly short?: number;
  /** Waits until a call that was just made stands in line: at once locally, a round trip remotely. */
  untilQueued?(subject: Subject<G>, count: number): Promise<void>;
}

/** Registers the suite for one factory. */
export function contractSuite<G extends AnyGuard>(factory: SubjectFactory<G>): void {
  const check = (what: string, fn: (fixture: Fixture<G>) => Promise<void>, { needsPlace = false } = {}) => {
    if (needsPlace && factory.hasPlace === false) return;
    test(`${factory.name}: ${what}`, async () => {
      const subject = await factory.make();
      using ledger = new Ledger();
      try {
        await fn(new Fixture(subject, factory));
        ledger.assertSound();
      } finally {
        await subject.close?.();
      }
    });
  };

  check("a free one is granted, and free again after release", async ({ lock }) => {
    for (let i = 0; i < 3; i++) {
      const guard = await lock.acquire();
      assert.equal(guard.held, true);
      await guard.release();
      assert.equal(guard.held, false);
    }
  });

  check("tryAcquire gets a free one only", async ({ lock }) => {
    const guard = (await lock.tryAcquire())!;
    assert.equal(guard.held, true);
    assert.equal(await lock.tryAcquire(), undefined);
    await guard.release();
    await (await lock.tryAcquire())!.release();
  });

  check("first come, first served", async (fixture) => {
    const first = await fixture.lock.acquire();
    const order: number[] = [];
    const waiters: Promise<void>[] = [];
    for (let i = 0; i < 5; i++) {
      waiters.push(fixture.lock.run(() => void order.push(i)));
      await fixture.untilQueued(i + 1);
    }
    await first.release();
    await Promise.all(waiters);
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
  });

  check("a newcomer does not overtake the waiter that was handed the hold", async (fixture) => {
    const first = await fixture.lock.acquire();
    const second = watch(fixture.lock.acquire());
    await fixture.untilQueued(1);
    const releasing = first.release();
    assert.equal(await fixture.lock.tryAcquire(), undefined);
    await releasing;
    await (await second.promise).release();
  });

  check("timeout 0 tries once", async ({ lock, waiting }) => {
    const guard = await lock.acquire({ timeout: 0 });
    const late = watch(lock.acquire({ timeout: 0 }));
    await late.promise.catch(() => {});
    assert.ok(late.reason instanceof TimeoutError);
    assert.equal(late.reason.name, "TimeoutError");
    assert.match(late.reason.message, /^Cannot acquire .*: .*0 ms/);
    assert.equal(await waiting(), 0);
    await guard.release();
    await lock.run(() => {}, { timeout: 0 });
  });

  check("a time-out cancels the waiter in the middle, and no other", async (fixture) => {
    const [long, short] = [{ timeout: 60_000 }, { timeout: factory.short ?? 30 }];
    const { first, waiters } = await fixture.holderAndThreeWaiters([long, short, long]);
    await assert.rejects(waiters[1]!.promise, TimeoutError);
    await fixture.untilQueued(2); // a platform's manager takes it out in its own time
    await fixture.passesAlong(first, [waiters[0]!, waiters[2]!]);
  });

  check("abort of the one in the middle, then release", async (fixture) => {
    const middle = new CountingController();
    const { first, waiters } = await fixture.holderAndThreeWaiters([undefined, { signal: middle.signal }]);
    const reason = new Error("changed my mind");
    middle.abort(reason);
    await rejectsWith(waiters[1]!.promise, reason);
    assert.equal(middle.listeners, 0);
    await fixture.until(async () => await fixture.waiting() === 2);
    await fixture.passesAlong(first, [waiters[0]!, waiters[2]!]);
  });

  check("abort of the one in the middle after the first was released", async (fixture) => {
    const middle = new CountingController();
    const { first, waiters } = await fixture.holderAndThreeWaiters([undefined, { signal: middle.signal }]);
    const releasing = first.release();
    middle.abort();
    await releasing;
    await rejectsWith(waiters[1]!.promise, middle.signal.reason);
    await fixture.passesAlong(await waiters[0]!.promise, [waiters[2]!]);
  });

  check("an abort after the grant changes nothing", async ({ lock, isFree }) => {
    const controller = new CountingController();
    const guard = await lock.acquire({ signal: controller.signal });
    controller.abort();
    await flushMicrotasks();
    assert.equal(guard.held, true);
    assert.equal(controller.listeners, 0);
    await guard.release();
    await isFree();
  });

  check("one signal cancels all of its waiters, and no listener is left", async (fixture) => {
    const shared = new CountingController();
    const { first, waiters } = await fixture.holderAndThreeWaiters(Array(3).fill({ signal: shared.signal }));
    const last = watch(fixture.lock.acquire());
    await fixture.untilQueued(4);
    shared.abort();
    for (const waiter of waiters) await rejectsWith(waiter.promise, shared.signal.reason);
    assert.equal(shared.listeners, 0);
    await fixture.passesAlong(first, [last]);
  });

  check("a guard is spent once and never releases another holder's hold", async (fixture) => {
    const first = await fixture.lock.acquire();
    const second = watch(fixture.lock.acquire());
    await fixture.untilQueued(1);
    await first.release();
    const guard = await second.promise;
    await first.release();
    await first[Symbol.asyncDispose]();
    assert.equal(guard.held, true);
    assert.equal(await fixture.lock.tryAcquire(), undefined);
    await guard[Symbol.asyncDispose]();
    await guard[Symbol.asyncDispose]();
    await fixture.isFree();
  });

  check(
    "run gives back what fn gives, and releases whether fn returns, rejects or throws",
    async ({ lock, isFree }) => {
      assert.equal(await lock.run((guard) => guard.held), true);
      assert.equal(await lock.run(() => Promise.resolve(7)), 7);
      const error = new Error("work failed");
      await rejectsWith(lock.run(() => Promise.reject(error)), error);
      await rejectsWith(
        lock.run(() => {
          throw error;
        }),
        error,
      );
      await isFree();
    },
  );

  check("run without a function fails before it waits", async ({ lock, waiting, isFree }) => {
    const guard = await lock.acquire();
    for (const fn of [undefined, null, 5, {}]) await assert.rejects(lock.run(fn as never), TypeError);
    assert.equal(await waiting(), 0);
    await guard.release();
    await isFree();
  });

  check("acquireAll holds it, and gives it back with the rest when the call is cancelled", async (fixture) => {
    const beside = new Lock();
    const group = await acquireAll([fixture.lock, beside]);
    assert.deepEqual([group.held, group.guards[0].held, beside.locked], [true, true, true]);
    assert.equal(await fixture.lock.tryAcquire(), undefined);
    await group.release();
    assert.deepEqual([group.held, group.guards[0].held, beside.locked], [false, false, false]);
    const holder = await fixture.lock.acquire();
    const controller = new CountingController();
    const call = watch(acquireAll([beside, fixture.lock], { signal: controller.signal }));
    await fixture.untilQueued(1);
    controller.abort();
    await rejectsWith(call.promise, controller.signal.reason);
    assert.deepEqual([beside.locked, controller.listeners], [false, 0]);
    await assert.rejects(acquireAll([fixture.lock, beside, fixture.lock]), TypeError);
    await holder.release();
    await fixture.isFree();
  }, { needsPlace: true });

  check("every caller gets its turn under load, one at a time", async ({ lock, waiting, isFree }) => {
    let inside = 0, turns = 0;
    const worker = async () => {
      for (let i = 0; i < 5; i++) {
        await lock.run(async () => {
          assert.equal(++inside, 1);
          await nextTurn();
          inside--;
          turns++;
        });
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    assert.equal(turns, 40);
    assert.equal(await waiting(), 0);
    await isFree();
  });
}

/** One thing under test, with the steps that the tests share. */
class Fixture<G extends AnyGuard> {
  readonly lock: Acquirable<G, WaitOptions>;
  readonly #subject: Subject<G>;
  readonly #factory: SubjectFactory<G>;

  constructor(subject: Subject<G>, factory: SubjectFactory<G>) {
    this.lock = subject.lock;
    this.#subject = subject;
    this.#factory = factory;
  }

  readonly waiting = async (): Promise<number> => await this.#subject.waiting();

  /** Asserts that there is no holder. */
  readonly isFree = async (): Promise<void> => {
    const guard = await this.lock.tryAcquire();
    assert.ok(guard, "should be free");
    await guard.release();
  };

  async untilQueued(count: number): Promise<void> {
    if (this.#factory.untilQueued) await this.#factory.untilQueued(this.#subject, count);
    else assert.equal(await this.waiting(), count);
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    while (!await condition()) await nextTurn();
  }

  /** A holder and three waiters with these options. */
  async holderAndThreeWaiters(options: (WaitOptions | undefined)[]): Promise<{ first: G; waiters: Watched<G>[] }> {
    const first = await this.lock.acquire();
    const waiters: Watched<G>[] = [];
    for (let i = 0; i < 3; i++) {
      waiters.push(watch(this.lock.acquire(options[i])));
      if (this.#factory.untilQueued) await this.#untilQueuedOrOver(waiters);
      else await this.untilQueued(i + 1);
    }
    return { first, waiters };
  }

  /** On a busy machine a short time may be over before the last one is in the queue. */
  async #untilQueuedOrOver(waiters: readonly Watched<G>[]): Promise<void> {
    await until(async () => await this.waiting() >= waiters.filter(({ state }) => state === "pending").length);
  }

  /** Asserts that the hold goes from one to the next, and is free in the end. */
  async passesAlong(holder: G, waiters: readonly Watched<G>[]): Promise<void> {
    for (const waiter of waiters) {
      await flushMicrotasks();
      assert.equal(waiter.state, "pending");
      await holder.release();
      holder = await waiter.promise;
    }
    await holder.release();
    assert.equal(await this.waiting(), 0);
    await this.isFree();
  }
}
