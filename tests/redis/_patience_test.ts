/** When a call stops trying, and what it says then. */
import assert from "node:assert/strict";
import { RedisError, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { drain, type FakeTime, watch, type Watched, withFakeTime } from "../_tools.ts";
import { type Command, nothing, scripted, serverTime } from "./_scripted.ts";

/** A server that goes silent when it is told to, and a lock on it that others hold from then on. */
async function fallingSilent(ttl: number, answer: (command: Command) => unknown = () => undefined) {
  const state = { silent: false, sent: 0 };
  const backend = scripted((command) => {
    state.sent++;
    return state.silent ? nothing : answer(command);
  });
  await (await new RedisLock(backend, "warm", { ttl }).acquire()).release();
  return { state, lock: new RedisLock(backend, "a", { ttl }) };
}

/** Lets time pass until the promise settles; answers how much. */
async function timeUntil(time: FakeTime, watched: Watched<unknown>, most: number): Promise<number> {
  const start = performance.now();
  for (await drain(); watched.state === "pending"; await drain()) {
    if (performance.now() - start > most) assert.fail(`still pending after ${most} ms`);
    time.advance(1);
  }
  return performance.now() - start;
}

/** Answers again, until what the call may have left is taken back. */
async function goOn(time: FakeTime, state: { silent: boolean }): Promise<void> {
  state.silent = false;
  for (let i = 0; i < 20; i++, await drain()) time.advance(1000);
}

for (const ttl of [300, 2000, 3500, 30_000]) {
  test(`Patience: with nothing else to end it, a call without answers fails after its ttl of ${ttl} ms`, () =>
    withFakeTime(async (time) => {
      const { state, lock } = await fallingSilent(ttl);
      state.silent = true;
      const call = watch(lock.acquire());
      const took = await timeUntil(time, call, 2 * ttl);
      assert.ok(took >= ttl && took <= ttl + 5, `${took} ms`);
      assert.ok(call.reason instanceof RedisError);
      await goOn(time, state);
    }));
}

test("Patience: the same for a call that stands in line, from the heartbeat on that was not answered", () =>
  withFakeTime(async (time) => {
    const ttl = 3300;
    const inLine = (command: Command) =>
      command === "acquire" && queued ? [0, serverTime(), 1, serverTime()] : undefined;
    let queued = false;
    const { state, lock } = await fallingSilent(ttl, inLine);
    queued = true;
    const call = watch(lock.acquire());
    await drain();
    state.silent = true;
    const { sent } = state;
    for (; state.sent === sent; await drain()) time.advance(1);
    const took = await timeUntil(time, call, 2 * ttl);
    assert.ok(took >= ttl && took <= ttl + 5, `${took} ms`);
    await goOn(time, state);
  }));
