/** Observers and signals of others that act on the very queue that is being served. */
import assert from "node:assert/strict";
import { observe, type Observer } from "../../lib/diagnostics/mod.ts";
import {
  Barrier,
  BoundedSemaphore,
  BrokenBarrierError,
  Condition,
  Event,
  Lock,
  NotHeldError,
  Pool,
  RwLock,
  Semaphore,
  SetEvent,
  SyncError,
  type TaskOptions,
  type WaitOptions,
} from "../../mod.ts";
import { ForeignSignal, type SignalMember } from "../_foreign_signal.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, states, watch, type Watched, withFakeTime } from "../_tools.ts";

/** A signal of another library. Each member may act once, the next time that it is asked for. */
class OnceActingSignal extends ForeignSignal {
  acts: Partial<Record<SignalMember, () => void>> = {};

  constructor() {
    super((member) => {
      const act = this.acts[member];
      delete this.acts[member];
      act?.();
    });
  }
}

const foreign = (): OnceActingSignal & AbortSignal => new OnceActingSignal() as OnceActingSignal & AbortSignal;

/** A signal with a listener of the user's, which comes before those of the library. */
function abortable(listener: () => void): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  controller.signal.addEventListener("abort", listener);
  return { signal: controller.signal, abort: () => controller.abort() };
}

async function observed(observer: Observer, fn: () => Promise<void>): Promise<void> {
  const listening = observe(observer);
  try {
    await fn();
  } finally {
    listening[Symbol.dispose]();
  }
}

/** How three waiters leave together, with an observer that aborts the third one's signal at the first event. */
const emptied: Record<string, (signals: AbortSignal[]) => readonly [Promise<unknown>[], () => void, () => number]> = {
  "Event.set": (signals) => {
    const event = new Event();
    return [signals.map((signal) => event.wait({ signal })), () => event.set(), () => event.waiting];
  },
  "SetEvent.delete": (signals) => {
    const set = new SetEvent([1]);
    return [signals.map((signal) => set.wait({ signal })), () => set.delete(1), () => set.waiting];
  },
  "Barrier.wait": (signals) => {
    const barrier = new Barrier(4);
    return [signals.map((signal) => barrier.wait({ signal })), () => void barrier.wait(), () => barrier.waiting];
  },
  "Barrier.reset": (signals) => {
    const barrier = new Barrier(4);
    return [signals.map((signal) => barrier.wait({ signal })), () => barrier.reset(), () => barrier.waiting];
  },
};

for (const [name, setUp] of Object.entries(emptied)) {
  test(`${name}: an observer that aborts a signal while the queue is emptied finds all of them gone`, async () => {
    const controllers = [1, 2, 3].map(() => new AbortController());
    const [waits, empty, waiting] = setUp(controllers.map(({ signal }) => signal));
    const watched = waits.map((wait) => watch(wait));
    const act = () => {
      assert.equal(waiting(), 0);
      controllers[2]!.abort();
    };
    await observed({ grant: act, giveUp: act }, async () => {
      empty();
      assert.equal(waiting(), 0);
      assert.equal(new Set((await states(watched)).split(" ")).size, 1, "all of them ended alike");
    });
    assert.equal(waiting(), 0);
  });

  test(`${name}: the listener of a signal may be the one who empties the queue`, async () => {
    const controllers = [1, 2, 3].map(() => new AbortController());
    const [first, middle, last] = controllers;
    let empty = () => {};
    middle!.signal.addEventListener("abort", () => empty()); // before the queue listens
    const [waits, fn, waiting] = setUp([first!.signal, middle!.signal, last!.signal]);
    empty = fn;
    const watched = waits.map((wait) => watch(wait));
    middle!.abort("gone");
    await flushMicrotasks();
    assert.deepEqual([watched[1]!.state, watched[1]!.reason], ["rejected", "gone"]);
    if (!name.startsWith("Barrier.w")) assert.equal(waiting(), 0);
  });
}

test("Pool.cancel: an observer that aborts a signal while the queue is emptied: join ends", async () => {
  const pool = new Pool(1);
  const controller = new AbortController();
  const { promise, resolve } = deferred();
  const calls = [pool.run(() => promise), pool.run(() => {}), pool.run(() => {}, { signal: controller.signal })];
  const watched = calls.map((call) => watch(call));
  await flushMicrotasks(); // the first one runs
  await observed({ giveUp: () => controller.abort() }, async () => {
    pool.cancel("over");
    resolve();
    await pool.join();
  });
  assert.equal(await states(watched), "fulfilled rejected rejected");
  assert.deepEqual(watched.map(({ reason }) => reason), [undefined, "over", "over"]);
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
});

test("Event: an observer that clears it and waits during a set: the set comes last", async () => {
  const event = new Event();
  const { signal, abort } = abortable(() => event.set());
  let later: Watched<void> | undefined;
  const clear = () => {
    event.clear();
    later = watch(event.wait());
  };
  await observed({ giveUp: clear }, async () => {
    const waits = [watch(event.wait({ signal })), watch(event.wait())];
    abort();
    assert.equal(await states([...waits, later!]), "rejected fulfilled fulfilled");
    assert.deepEqual([event.isSet, event.waiting], [true, 0]);
  });
});

test("Event: an observer that sets it during a wait leaves no promise behind that later waits share", async () => {
  const event = new Event();
  await observed({ wait: () => event.set() }, () => event.wait());
  event.clear();
  const later = watch(event.wait());
  assert.equal(await states([later]), "pending");
  assert.equal(event.waiting, 1);
  event.set();
  assert.equal(await states([later]), "fulfilled");
  assert.equal(event.waiting, 0);
});

for (const at of ["aborted", "reason", "remove"] as const) {
  test(`Semaphore: a foreign signal whose "${at}" releases it: granted or cancelled, never both`, async () => {
    const semaphore = new Semaphore(1);
    const holder = await semaphore.acquire();
    const signals = [foreign(), foreign(), foreign()];
    const watched = signals.map((signal) => watch(semaphore.acquire({ signal })));
    signals[1]!.acts[at] = () => holder.release();
    signals[1]!.abort();
    assert.equal(await states(watched), "fulfilled rejected pending");
    assert.equal(watched[1]!.reason, "the reason");
    assert.equal(semaphore.waiting, 1);
    watched[0]!.value!.release();
    assert.equal(await states(watched), "fulfilled rejected fulfilled");
    watched[2]!.value!.release();
    assert.deepEqual([semaphore.value, semaphore.waiting], [1, 0]);
    assert.equal(signals[1]!.listeners.size, 0);
  });

  test(`Lock: a foreign signal that aborted without a notification, and whose "${at}" acts during a release`, async () => {
    const lock = new Lock();
    const holder = await lock.acquire();
    const signals = [foreign(), foreign(), foreign()];
    const watched = signals.map((signal) => watch(lock.acquire({ signal })));
    const seen: unknown[] = [];
    signals[0]!.abort(false);
    signals[0]!.acts[at] = () => {
      assert.throws(() => lock.release(), NotHeldError); // it is being released
      seen.push(lock.tryAcquire());
      signals[1]!.abort();
    };
    holder.release();
    assert.equal(await states(watched), "rejected rejected fulfilled");
    assert.deepEqual([seen, lock.locked, lock.waiting], [[undefined], true, 0]);
    watched[2]!.value!.release();
    assert.equal(lock.locked, false);
  });
}

test("Barrier: a foreign signal whose `aborted` cancels another one as the last party arrives", async () => {
  const barrier = new Barrier(3);
  const signals = [foreign(), foreign()];
  const watched = signals.map((signal) => watch(barrier.wait({ signal })));
  signals[1]!.acts.aborted = () => signals[0]!.abort();
  const last = watch(barrier.wait());
  assert.equal(await states([...watched, last]), "rejected pending pending");
  assert.equal(barrier.waiting, 2);
  const late = watch(barrier.wait());
  assert.equal(await states([...watched, last, late]), "rejected fulfilled fulfilled fulfilled");
  assert.deepEqual([watched[1]!.value, last.value, late.value], [0, 1, 2]);
});

/** Waits with a signal, each with the call that closes the thing for good or breaks it. */
const closed: Record<string, () => readonly [(options: WaitOptions) => Promise<unknown>, () => void]> = {
  "Event.wait": () => {
    const event = new Event();
    return [(options) => event.wait(options), () => event.cancel()];
  },
  "Event.wait, set": () => {
    const event = new Event();
    event.set();
    return [(options) => event.wait(options), () => event.cancel()];
  },
  "Condition.wait": () => {
    const condition = new Condition();
    condition.tryAcquire();
    return [(options) => condition.wait(options), () => condition.cancel()];
  },
  "Condition.waitFor": () => {
    const condition = new Condition();
    condition.tryAcquire();
    return [(options) => condition.waitFor(() => false, options), () => condition.cancel()];
  },
  "Condition.wait, its lock": () => {
    const lock = new Lock();
    const condition = new Condition(lock);
    lock.tryAcquire();
    return [(options) => condition.wait(options), () => lock.cancel()];
  },
  "Barrier.wait": () => {
    const barrier = new Barrier(2);
    return [(options) => barrier.wait(options), () => barrier.abort()];
  },
  "Barrier.wait, the last party": () => {
    const barrier = new Barrier(1);
    return [(options) => barrier.wait(options), () => barrier.abort()];
  },
};

for (const [name, setUp] of Object.entries(closed)) {
  const most = name.endsWith("its lock") ? 2 : 3; // once the wait has begun, closing the lock does not end it
  for (let nth = 1; nth <= most; nth++) {
    test(`${name}: a foreign signal that closes or breaks it when it is asked for the ${nth}. time`, async () => {
      const [wait, close] = setUp();
      const signal = foreign();
      let asked = 0;
      const act = () => ++asked === nth ? close() : void (signal.acts.aborted = act);
      signal.acts.aborted = act;
      const watched = watch(wait({ signal }));
      await flushMicrotasks();
      if (asked < nth) return close();
      assert.equal(watched.state, "rejected");
      assert.ok(watched.reason instanceof SyncError || (watched.reason as Error).name === "AbortError");
    });
  }
}

const startingCalls: ((pool: Pool, fn: (signal: AbortSignal) => void, options: TaskOptions) => Promise<unknown>)[] = [
  (pool, fn, options) => pool.run(fn, options),
  (pool, fn, options) => pool.createTask(fn, options),
  async (pool, fn, { signal }) => await pool.map([1], (_, _i, own) => fn(own), { signal }).toArray(),
];

for (let nth = 1; nth <= 5; nth++) {
  test(`Pool: a foreign signal that cancels it when it is asked for the ${nth}. time: no call waits`, async () => {
    for (const method of startingCalls) {
      const pool = new Pool(1);
      const { promise, resolve } = deferred();
      const running = watch(pool.run(() => promise));
      await flushMicrotasks();
      const signal = foreign();
      let asked = 0;
      const act = () => ++asked === nth ? pool.cancel("over") : void (signal.acts.aborted = act);
      signal.acts.aborted = act;
      const call = watch(method(pool, () => {}, { signal }));
      await flushMicrotasks();
      if (asked >= nth) assert.deepEqual([pool.waiting, call.state], [0, "rejected"]);
      resolve();
      assert.equal(await states([running]), "fulfilled");
      pool.cancel("over");
      await pool.join();
    }
  });

  test(`Pool: a foreign signal that cancels it when it is asked for the ${nth}. time: no function goes on`, async () => {
    for (const method of startingCalls) {
      const pool = new Pool(1);
      const signal = foreign();
      let asked = 0;
      const act = () => ++asked === nth ? pool.cancel("over") : void (signal.acts.aborted = act);
      signal.acts.aborted = act;
      const seen: unknown[] = [];
      const call = watch(method(pool, ({ aborted, reason }) => void seen.push(aborted, reason), { signal }));
      await flushMicrotasks();
      await pool.join();
      if (asked < nth) continue;
      assert.ok(call.state === "rejected" && seen.length === 0 || seen[1] === "over", `${call.state}, ${seen}`);
      assert.equal(pool.active, 0);
    }
  });
}

test("Pool: an observer that takes a slot while a cancelled call is passed over: never more than the limit", async () => {
  const pool = new Pool(1);
  const { promise, resolve } = deferred();
  const active: number[] = [];
  const hold = () => {
    active.push(pool.active);
    return promise;
  };
  const { signal, abort } = abortable(() => pool.limit = 2);
  const calls = [pool.run(hold)];
  await observed({ giveUp: () => void calls.push(pool.run(hold), pool.run(hold)) }, async () => {
    const cancelled = watch(pool.run(hold, { signal }));
    abort();
    assert.equal(await states([cancelled]), "rejected");
  });
  assert.deepEqual([pool.active, pool.waiting, active], [2, 1, [2, 2]]);
  resolve();
  await Promise.all(calls);
});

test("Pool: a greater priority that comes while a cancelled call is passed over is first", async () => {
  const pool = new Pool(1);
  const { promise, resolve } = deferred();
  const order: string[] = [];
  const run = (id: string, options?: TaskOptions) => watch(pool.run(() => void order.push(id), options));
  const { signal, abort } = abortable(() => pool.limit = 2);
  const running = pool.run(() => promise);
  await observed({ giveUp: () => void run("high", { priority: 1 }) }, async () => {
    const cancelled = run("cancelled", { signal });
    run("usual");
    abort();
    assert.equal(await states([cancelled]), "rejected");
  });
  resolve();
  await running;
  assert.deepEqual(order, ["high", "usual"]);
});

test("BoundedSemaphore: an observer of a release that releases once more is refused", async () => {
  const semaphore = new BoundedSemaphore(2);
  const refused: unknown[] = [];
  const release = () => {
    try {
      semaphore.release();
    } catch (error) {
      refused.push(error);
    }
  };
  await observed({ release }, async () => {
    await semaphore.acquire();
    semaphore.release();
    assert.ok(refused.length === 1 && refused[0] instanceof RangeError);
    assert.equal(semaphore.value, 2);
  });
});

test("Barrier.abort: an observer that waits again finds it broken", async () => {
  const barrier = new Barrier(3);
  const again: Promise<number>[] = [];
  await observed({ giveUp: () => void again.push(barrier.wait()) }, async () => {
    const waits = [barrier.wait(), barrier.wait()];
    barrier.abort();
    for (const wait of [...waits, ...again]) await assert.rejects(wait, BrokenBarrierError);
  });
  assert.deepEqual([again.length, barrier.waiting, barrier.broken], [2, 0, true]);
});

test("Barrier.reset: an observer that aborts it leaves it broken", async () => {
  const barrier = new Barrier(2);
  await observed({ giveUp: () => barrier.abort() }, async () => {
    const wait = barrier.wait();
    barrier.reset();
    await assert.rejects(wait, BrokenBarrierError);
  });
  assert.equal(barrier.broken, true);
});

test("timeouts of one moment: all have left before an observer hears of the first", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const counts: number[] = [];
  const act = () => {
    counts.push(lock.waiting);
    guard.release();
  };
  await withFakeTime((time) =>
    observed({ giveUp: act }, async () => {
      const watched = [1, 2, 3].map(() => watch(lock.acquire({ timeout: 5 })));
      time.advance(5);
      assert.equal(await states(watched), "rejected rejected rejected");
    })
  );
  assert.deepEqual(counts, [0, 0, 0]);
  assert.deepEqual([lock.locked, lock.waiting], [false, 0]);
});

for (const [name, notify] of [["notify(2)", 2], ["notifyAll", undefined]] as const) {
  for (const at of ["grant", "remove"] as const) {
    test(`Condition.${name}: who is notified has left before the first one's ${at} runs code that cancels`, async () => {
      const lock = new Lock();
      const condition = new Condition(lock);
      const signals = [foreign(), foreign(), foreign()];
      const watched: Watched<void>[] = [];
      for (const signal of signals) {
        const guard = await lock.acquire();
        watched.push(watch(condition.wait({ signal }).finally(() => guard.release())));
      }
      const counts: number[] = [];
      const act = () => {
        counts.push(condition.waiting);
        signals[1]!.abort();
        condition.cancel("over");
      };
      if (at === "remove") signals[0]!.acts.remove = act;
      await observed(at === "grant" ? { grant: ({ kind }) => void (kind === "condition" && act()) } : {}, async () => {
        const guard = await lock.acquire();
        if (notify === undefined) condition.notifyAll();
        else condition.notify(notify);
        guard.release();
        const third = notify === undefined ? "fulfilled" : "rejected";
        assert.equal(await states(watched), `fulfilled fulfilled ${third}`);
      });
      assert.equal(counts[0], notify === undefined ? 0 : 1);
      assert.equal(lock.locked, false);
    });
  }
}

/** Tries everything on a guard that another library might do with an object that it is given. */
function tamper(guard: object): void {
  assert.deepEqual([Object.keys(guard), Reflect.ownKeys(guard), JSON.stringify(guard)], [[], [], "{}"]);
  for (const member of ["permits", "resolve", "registration", "next", "waitsFor", "owner"]) {
    assert.equal(member in guard, false, member);
    (guard as Record<string, unknown>)[member] = 5;
  }
  Object.freeze(guard);
}

test("guards show no writable state: freezing and writing change nothing", async () => {
  const semaphore = new Semaphore(1);
  const permit = await semaphore.acquire();
  tamper(permit);
  permit.release();
  assert.equal(semaphore.value, 1);

  const condition = new Condition();
  const guard = await condition.acquire();
  tamper(guard);
  const waits = watch(condition.wait());
  await condition.run(() => condition.notify());
  assert.equal(await states([waits]), "fulfilled");
  assert.equal(guard.held, true);
  guard.release();

  const table = new RwLock();
  const writer = await table.writer.acquire();
  tamper(writer);
  writer.release();
  assert.equal(table.writer.locked, false);
});
