/**
 * The contract of everything that can be held, local or remote, as tests over a factory. The body must have room for one
 * holder.
 */
import assert from "node:assert/strict";
import { type Acquirable, acquireAll, Lock, TimeoutError, type WaitOptions } from "../mod.ts";
import { test } from "./_test.ts";
import { Ledger } from "./diagnostics/_ledger.ts";
import { Recording } from "./diagnostics/_tools.ts";
import {
  CountingController,
  flushMicrotasks,
  nextTurn,
  refusesBadOptions,
  rejectsWith,
  watch,
  type Watched,
} from "./_tools.ts";

/** The common part of guards and leases. */
export interface AnyGuard extends AsyncDisposable {
  readonly held: boolean;
  release(): unknown;
}

/** One thing under test. */
export interface Body<G extends AnyGuard> {
  readonly held: Acquirable<G>;
  /** How many are in line. */
  waiting(): number | Promise<number>;
  /** Ends what belongs to the body only. */
  close?(): Promise<void>;
}

/** How to make one. */
export interface BodyFactory<G extends AnyGuard> {
  readonly name: string;
  make(): Body<G> | Promise<Body<G>>;
  /** Whether `acquireAll` can acquire it. Default: true. */
  readonly hasPlace?: boolean;
  /** Milliseconds that are enough to come to stand in line. */
  readonly short?: number;
  /** Waits until a call that was just made stands in line: at once locally, a round trip remotely. */
  inLine?(body: Body<G>, count: number): Promise<void>;
}

/** Registers the suite for one factory. */
export function contractSuite<G extends AnyGuard>(factory: BodyFactory<G>): void {
  const check = (what: string, fn: (kit: Kit<G>) => Promise<void>, { needsPlace = false } = {}) => {
    if (needsPlace && factory.hasPlace === false) return;
    test(`${factory.name}: ${what}`, async () => {
      const body = await factory.make();
      using ledger = new Ledger();
      try {
        await fn(new Kit(body, factory));
        ledger.assertSound();
      } finally {
        await body.close?.();
      }
    });
  };

  check("a free one is granted, and free again after release", async ({ it }) => {
    for (let i = 0; i < 3; i++) {
      const guard = await it.acquire();
      assert.equal(guard.held, true);
      await guard.release();
      assert.equal(guard.held, false);
    }
  });

  check("tryAcquire gets a free one only", async ({ it }) => {
    const guard = (await it.tryAcquire())!;
    assert.equal(guard.held, true);
    assert.equal(await it.tryAcquire(), undefined);
    await guard.release();
    await (await it.tryAcquire())!.release();
  });

  check("first come, first served", async (kit) => {
    const first = await kit.it.acquire();
    const order: number[] = [];
    const waiters: Promise<void>[] = [];
    for (let i = 0; i < 5; i++) {
      waiters.push(kit.it.run(() => void order.push(i)));
      await kit.inLine(i + 1);
    }
    await first.release();
    await Promise.all(waiters);
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
  });

  check("a newcomer does not overtake the waiter that was handed the hold", async (kit) => {
    const first = await kit.it.acquire();
    const second = watch(kit.it.acquire());
    await kit.inLine(1);
    const releasing = first.release();
    assert.equal(await kit.it.tryAcquire(), undefined);
    await releasing;
    await (await second.promise).release();
  });

  check("an aborted signal rejects with its own reason even where it is free", async ({ it, isFree }) => {
    for (const reason of [new Error("enough"), "text", null, 0]) {
      const signal = AbortSignal.abort(reason);
      await rejectsWith(it.acquire({ signal }), reason);
      await rejectsWith(it.run(() => assert.fail("called"), { signal }), reason);
    }
    const signal = AbortSignal.abort();
    await rejectsWith(it.acquire({ signal, timeout: 0 }), signal.reason);
    await isFree();
  });

  check("timeout 0 tries once", async ({ it, waiting }) => {
    const guard = await it.acquire({ timeout: 0 });
    const late = watch(it.acquire({ timeout: 0 }));
    await late.promise.catch(() => {});
    assert.ok(late.reason instanceof TimeoutError);
    assert.equal(late.reason.name, "TimeoutError");
    assert.match(late.reason.message, /^Cannot acquire .*: .*0 ms/);
    assert.equal(await waiting(), 0);
    await guard.release();
    await it.run(() => {}, { timeout: 0 });
  });

  check("a time-out cancels the waiter in the middle, and no other", async (kit) => {
    const { first, waiters } = await kit.three((i) => ({ timeout: i === 1 ? factory.short ?? 30 : 60_000 }));
    await assert.rejects(waiters[1]!.promise, TimeoutError);
    assert.equal(await kit.waiting(), 2);
    await kit.passesAlong(first, [waiters[0]!, waiters[2]!]);
  });

  check("abort of the one in the middle, then release", async (kit) => {
    const middle = new CountingController();
    const { first, waiters } = await kit.three((i) => i === 1 ? { signal: middle.signal } : undefined);
    const reason = new Error("changed my mind");
    middle.abort(reason);
    await rejectsWith(waiters[1]!.promise, reason);
    assert.equal(middle.listeners, 0);
    await kit.until(async () => await kit.waiting() === 2);
    await kit.passesAlong(first, [waiters[0]!, waiters[2]!]);
  });

  check("abort of the one in the middle after the first was released", async (kit) => {
    const middle = new CountingController();
    const { first, waiters } = await kit.three((i) => i === 1 ? { signal: middle.signal } : undefined);
    const releasing = first.release();
    middle.abort();
    await releasing;
    await rejectsWith(waiters[1]!.promise, middle.signal.reason);
    await kit.passesAlong(await waiters[0]!.promise, [waiters[2]!]);
  });

  check("an abort after the grant changes nothing", async ({ it, isFree }) => {
    const controller = new CountingController();
    const guard = await it.acquire({ signal: controller.signal });
    controller.abort();
    await flushMicrotasks();
    assert.equal(guard.held, true);
    assert.equal(controller.listeners, 0);
    await guard.release();
    await isFree();
  });

  check("one signal cancels all of its waiters, and no listener is left", async (kit) => {
    const shared = new CountingController();
    const { first, waiters } = await kit.three(() => ({ signal: shared.signal }));
    const last = watch(kit.it.acquire());
    await kit.inLine(4);
    shared.abort();
    for (const waiter of waiters) await rejectsWith(waiter.promise, shared.signal.reason);
    assert.equal(shared.listeners, 0);
    await kit.passesAlong(first, [last]);
  });

  check("long times do not fire early", async (kit) => {
    const times = [2 ** 31, 2 ** 32 + 1, Number.MAX_VALUE, Infinity, undefined];
    const first = await kit.it.acquire();
    const waiters: Watched<G>[] = [];
    for (const timeout of times) {
      waiters.push(watch(kit.it.acquire({ timeout })));
      await kit.inLine(waiters.length);
    }
    await nextTurn();
    await nextTurn();
    assert.ok(waiters.every((waiter) => waiter.state === "pending"));
    await kit.passesAlong(first, waiters);
  });

  check("a guard is spent once and never releases another holder's hold", async (kit) => {
    const first = await kit.it.acquire();
    const second = watch(kit.it.acquire());
    await kit.inLine(1);
    await first.release();
    const guard = await second.promise;
    await first.release();
    await first[Symbol.asyncDispose]();
    assert.equal(guard.held, true);
    assert.equal(await kit.it.tryAcquire(), undefined);
    await guard[Symbol.asyncDispose]();
    await guard[Symbol.asyncDispose]();
    await kit.isFree();
  });

  check("run gives back what fn gives, and releases whether fn returns, rejects or throws", async ({ it, isFree }) => {
    assert.equal(await it.run((guard) => guard.held), true);
    assert.equal(await it.run(() => Promise.resolve(7)), 7);
    const error = new Error("work failed");
    await rejectsWith(it.run(() => Promise.reject(error)), error);
    await rejectsWith(
      it.run(() => {
        throw error;
      }),
      error,
    );
    await isFree();
  });

  check("run without a function fails before it waits", async ({ it, waiting, isFree }) => {
    const guard = await it.acquire();
    for (const fn of [undefined, null, 5, {}]) await assert.rejects(it.run(fn as never), TypeError);
    assert.equal(await waiting(), 0);
    await guard.release();
    await isFree();
  });

  check("wrong options are refused before anything happens", async ({ it, waiting, isFree }) => {
    await refusesBadOptions((options) => it.acquire(options));
    await refusesBadOptions((options) => it.run(() => assert.fail("called"), options));
    await isFree();
    const guard = await it.acquire();
    await refusesBadOptions((options) => it.acquire(options));
    assert.equal(await waiting(), 0);
    await guard.release();
  });

  check("options are read once, when the call is made", async (kit) => {
    const first = await kit.it.acquire();
    const reads = { signal: 0, timeout: 0 };
    const { signal } = new AbortController();
    const waiter = watch(kit.it.acquire({
      get signal() {
        return ++reads.signal === 1 ? signal : AbortSignal.abort();
      },
      get timeout() {
        return ++reads.timeout === 1 ? 60_000 : NaN;
      },
    }));
    await kit.inLine(1);
    const changing: { timeout?: number } = { timeout: 60_000 };
    const last = watch(kit.it.run((guard) => assert.equal(guard.held, true), changing));
    changing.timeout = 0;
    await kit.inLine(2);
    await first.release();
    await (await waiter.promise).release();
    await last.promise;
    assert.deepEqual(reads, { signal: 1, timeout: 1 });
    await kit.isFree();
  });

  check("acquireAll holds it, and gives it back with the rest when the call is cancelled", async (kit) => {
    const beside = new Lock();
    const group = await acquireAll([kit.it, beside]);
    assert.deepEqual([group.held, group.guards[0].held, beside.locked], [true, true, true]);
    assert.equal(await kit.it.tryAcquire(), undefined);
    await group.release();
    assert.deepEqual([group.held, group.guards[0].held, beside.locked], [false, false, false]);
    const holder = await kit.it.acquire();
    const controller = new CountingController();
    const call = watch(acquireAll([beside, kit.it], { signal: controller.signal }));
    await kit.inLine(1);
    controller.abort();
    await rejectsWith(call.promise, controller.signal.reason);
    assert.deepEqual([beside.locked, controller.listeners], [false, 0]);
    await assert.rejects(acquireAll([kit.it, beside, kit.it]), TypeError);
    await holder.release();
    await kit.isFree();
  }, { needsPlace: true });

  check("its events: each wait ends in a grant or is given up, each grant in a release", async (kit) => {
    using ledger = new Ledger();
    using recording = new Recording();
    const controller = new CountingController();
    const { first, waiters } = await kit.three((i) =>
      i === 1 ? { signal: controller.signal } : i === 2 ? { timeout: factory.short ?? 30 } : undefined
    );
    await assert.rejects(waiters[2]!.promise, TimeoutError);
    controller.abort();
    await waiters[1]!.promise.catch(() => {});
    await kit.passesAlong(first, [waiters[0]!]);
    await kit.it.run(() => {});
    const of = (name: string) => recording.seen.filter(({ event }) => event === name);
    assert.deepEqual(["wait", "grant", "giveUp", "release"].map((name) => of(name).length), [3, 4, 2, 4]);
    assert.deepEqual(of("giveUp").map(({ outcome }) => outcome), ["timeout", "aborted"]);
    assert.equal(new Set(recording.seen.map(({ kind, name, key }) => `${kind} ${name} ${key}`)).size, 1);
    ledger.assertSettled();
  });

  check("every caller gets its turn under load, one at a time", async ({ it, waiting, isFree }) => {
    let inside = 0, turns = 0;
    const worker = async () => {
      for (let i = 0; i < 5; i++) {
        await it.run(async () => {
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
class Kit<G extends AnyGuard> {
  readonly it: Acquirable<G, WaitOptions>;
  readonly #body: Body<G>;
  readonly #factory: BodyFactory<G>;

  constructor(body: Body<G>, factory: BodyFactory<G>) {
    this.it = body.held;
    this.#body = body;
    this.#factory = factory;
  }

  readonly waiting = async (): Promise<number> => await this.#body.waiting();

  /** Asserts that there is no holder. */
  readonly isFree = async (): Promise<void> => {
    const guard = await this.it.tryAcquire();
    assert.ok(guard, "should be free");
    await guard.release();
  };

  async inLine(count: number): Promise<void> {
    if (this.#factory.inLine) await this.#factory.inLine(this.#body, count);
    assert.equal(await this.waiting(), count);
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    while (!await condition()) await nextTurn();
  }

  /** A holder and three who wait. */
  async three(options: (i: number) => WaitOptions | undefined): Promise<{ first: G; waiters: Watched<G>[] }> {
    const first = await this.it.acquire();
    const waiters: Watched<G>[] = [];
    for (let i = 0; i < 3; i++) {
      waiters.push(watch(this.it.acquire(options(i))));
      await this.inLine(i + 1);
    }
    return { first, waiters };
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
