/** Observers hear of a step when it is complete, and may use the same queue then. */
import assert from "node:assert/strict";
import { Event, Lock, Pool, RateLimiter, Semaphore } from "../../mod.ts";
import { observe } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { states, watch } from "../_tools.ts";

test("step: first the release, then the grant, both when the next holder has it", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const next = watch(lock.acquire());
  const seen: unknown[] = [];
  const note = (what: string) => () => void seen.push([what, lock.locked, lock.waiting]);
  using _ = observe({ release: note("release"), grant: note("grant") });
  const later = watch(lock.acquire());
  guard.release();
  assert.deepEqual(seen, [["grant", true, 1]]); // the release of a hold that began unobserved is not reported
  seen.length = 0;
  (await next.promise).release();
  assert.deepEqual(seen, [["release", true, 0], ["grant", true, 0]]);
  (await later.promise).release();
});

test("step: an abort of several is reported once all have left and those behind them are granted", async () => {
  const semaphore = new Semaphore(2);
  const holder = await semaphore.acquire();
  const controller = new AbortController();
  const seen: unknown[] = [];
  using _ = observe({
    giveUp: () => void seen.push(["giveUp", semaphore.value, semaphore.waiting]),
    grant: () => void seen.push(["grant", semaphore.value, semaphore.waiting]),
  });
  const waiters = [
    semaphore.acquire({ permits: 2, signal: controller.signal }),
    semaphore.acquire({ permits: 2, signal: controller.signal }),
    semaphore.acquire(),
  ].map(watch);
  controller.abort();
  assert.deepEqual(seen, [["giveUp", 0, 0], ["giveUp", 0, 0], ["grant", 0, 0]]);
  assert.equal(await states(waiters), "rejected rejected fulfilled");
  holder.release();
  waiters[2]!.value!.release();
});

test("step: an observer that uses the queue is served, and told of it behind the rest", async () => {
  const event = new Event();
  const lock = new Lock();
  const order: string[] = [];
  using _ = observe({
    grant: ({ kind }) => {
      order.push(kind);
      if (kind === "event" && order.length === 1) lock.tryAcquire()!.release();
    },
    release: ({ kind }) => void order.push(`end of ${kind}`),
  });
  const waits = [event.wait(), event.wait()];
  event.set();
  await Promise.all(waits);
  assert.deepEqual(order, ["event", "event", "lock", "end of lock"]);
});

test("step: an observer of a pool's start that calls the pool gets no slot beyond the limit", async () => {
  const pool = new Pool(1, { rate: new RateLimiter(5, 1000) });
  const calls: Promise<void>[] = [];
  using _ = observe({
    grant: ({ kind }) => {
      if (kind === "rate-limiter" && calls.length < 2) calls.push(pool.run(() => {}));
    },
  });
  calls.push(pool.run(() => {}));
  assert.deepEqual([pool.active, pool.waiting], [1, 1]);
  await Promise.all(calls);
});

test("step: an observer of the give-up of a cancelled pool's call finds that it does not wait for a start", async () => {
  const rate = new RateLimiter(1, 1000);
  const pool = new Pool(1, { rate });
  using _ = observe({
    giveUp: ({ kind }) => {
      if (kind === "pool") rate.reward();
    },
  });
  rate.tryAcquire();
  const call = watch(pool.run(() => {}));
  pool.cancel();
  assert.deepEqual([await states([call]), rate.waiting, rate.remaining], ["rejected", 0, 1]);
});
