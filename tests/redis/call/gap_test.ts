/** Many waiters that have missed messages: their questions are spread, whatever the machine, as the clock is the test's. */
import assert from "node:assert/strict";
import { type Backend, RedisLock } from "../../../lib/redis/mod.ts";
import { STORE } from "../../../lib/redis/clients/backend.ts";
import { MemoryStore } from "../../../lib/redis/store/memory_store.ts";
import type { PushListener } from "../../../lib/redis/store/store.ts";
import { GAP_SPREAD } from "../../../lib/redis/times.ts";
import type { FakeTime } from "../../_tools.ts";
import { fakeTimeTest } from "../_scripted.ts";

const COUNT = 1000, HEARTBEAT = 3000;

/** A server in this process, whose questions are noted with their times, and whose subscription can be lost. */
function noting(): { backend: Backend; asked: number[]; lose: () => void } {
  const asked: number[] = [];
  const listeners = new Set<PushListener>();
  const store = new MemoryStore();
  const { acquire } = store;
  Object.assign(store, {
    acquire: (...request: Parameters<typeof acquire>) => {
      asked.push(performance.now());
      return acquire(...request);
    },
    subscribe: (listener: PushListener) => {
      listeners.add(listener);
      return Promise.resolve(() => void listeners.delete(listener));
    },
  });
  const lose = () => {
    for (const listener of listeners) listener.resumed();
  };
  const run = () => Promise.reject(new Error("called"));
  return { backend: { evalsha: run, eval: run, [STORE]: store } as Backend, asked, lose };
}

/** Calls `fn` while this number of calls waits, a second after they were made. */
async function withWaiters(
  time: FakeTime,
  { count, ttl }: { count: number; ttl: number },
  fn: (asked: number[], lose: () => void) => Promise<void>,
): Promise<void> {
  const { backend, asked, lose } = noting();
  const lock = new RedisLock(backend, "a", { ttl });
  const holder = await lock.acquire();
  const controller = new AbortController();
  const calls = Array.from({ length: count }, () => lock.acquire({ signal: controller.signal }).catch(() => {}));
  await time.pass(1000, 50);
  asked.length = 0;
  await fn(asked, lose);
  controller.abort();
  await Promise.all(calls);
  await holder.release();
  await time.pass(1000, 50); // the subscription lingers
}

/** The most in any tenth of a second. */
function densest(times: readonly number[]): number {
  let from = 0;
  return times.reduce((most, time, i) => {
    while (times[from]! <= time - 100) from++;
    return Math.max(most, i - from + 1);
  }, 0);
}

fakeTimeTest("1,000 waiters whose subscription is lost three times ask seldom, and far apart", async (time) => {
  await withWaiters(time, { count: COUNT, ttl: 3 * HEARTBEAT }, async (asked, lose) => {
    for (let losses = 0; losses < 3; losses++) {
      lose();
      await time.pass(200, 50);
    }
    await time.pass(HEARTBEAT - 1600 - 50, 50); // until just before the heartbeats of those that have not asked yet
    const before = [...asked];
    await time.pass(1500, 50);
    const all = asked.length;
    assert.ok(all >= COUNT && all <= 1.5 * COUNT, `${all} questions`);
    await time.pass(2 * HEARTBEAT, 50);
    const heartbeats = asked.slice(all);
    assert.ok(heartbeats.length >= COUNT && heartbeats.length <= 2 * COUNT, `${heartbeats.length} heartbeats`);
    for (const times of [before, heartbeats]) {
      assert.ok(densest(times) <= COUNT / 8, `${densest(times)} questions in 100 ms`);
    }
  });
});

fakeTimeTest("waiters ask after each gap, long before their heartbeats", async (time) => {
  await withWaiters(time, { count: 10, ttl: 30 * HEARTBEAT }, async (asked, lose) => {
    for (let losses = 0; losses < 3; losses++) {
      asked.length = 0;
      lose();
      await time.pass(GAP_SPREAD + 50, 50);
      assert.equal(asked.length, 10);
    }
  });
});
