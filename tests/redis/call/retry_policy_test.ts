/** The moment at which a call stops trying, and its error. */
import assert from "node:assert/strict";
import { RetryPolicy } from "../../../lib/redis/call/retry_policy.ts";
import { RedisError, RedisLock, TimeoutError } from "../../../lib/redis/mod.ts";
import { type FakeTime, flushMicrotasks, watch, type Watched } from "../../_tools.ts";
import { fakeTimeTest, nothing, queuedReply, scripted } from "../_scripted.ts";

interface Unsteady {
  readonly lock: RedisLock;
  /** How the server is: the lock is free, others hold it, nothing is answered, or every connection fails. */
  mode: "free" | "held" | "silent" | "failing";
  /** How many commands it was sent. */
  sent: number;
}

/** A lock on a server that a client has reached before. */
async function unsteady(ttl: number): Promise<Unsteady> {
  const backend = scripted((command) => {
    state.sent++;
    if (state.mode === "silent") return nothing;
    if (state.mode === "failing") throw new Error("Socket closed unexpectedly");
    if (state.mode === "held" && command === "acquire") return queuedReply();
  });
  const state: Unsteady = { lock: new RedisLock(backend, "a", { ttl }), mode: "free", sent: 0 };
  await (await state.lock.acquire()).release();
  return state;
}

/** Lets time pass until the next command is sent. */
async function nextCommand(time: FakeTime, state: Unsteady): Promise<void> {
  const { sent } = state;
  for (let i = 0; state.sent === sent; i++, await flushMicrotasks()) {
    assert.ok(i < 20_000, "no command was sent");
    time.advance(1);
  }
}

/** Lets time pass until the promise settles; answers how much. */
async function timeUntil(time: FakeTime, watched: Watched<unknown>, most: number): Promise<number> {
  const start = performance.now();
  for (await flushMicrotasks(); watched.state === "pending"; await flushMicrotasks()) {
    if (performance.now() - start > most) assert.fail(`still pending after ${most} ms`);
    time.advance(5);
  }
  return performance.now() - start;
}

/** Answers again, until the call's id has been released, and its commands without an answer have ended. */
async function goOn(time: FakeTime, state: Unsteady): Promise<void> {
  state.mode = "free";
  for (let i = 0; i < 30; i++, await flushMicrotasks()) time.advance(1000);
}

for (const ttl of [300, 2000, 3500, 30_000]) {
  fakeTimeTest(`a call without limits and answers fails after its ttl of ${ttl} ms`, async (time) => {
    const state = await unsteady(ttl);
    state.mode = "silent";
    const call = watch(state.lock.acquire());
    const took = await timeUntil(time, call, 2 * ttl);
    assert.ok(took >= ttl && took <= ttl + 5, `${took} ms`);
    assert.ok(call.reason instanceof RedisError);
    await goOn(time, state);
  });
}

fakeTimeTest("a waiter without limits fails one ttl after its first unanswered heartbeat", async (time) => {
  const ttl = 3300;
  const state = await unsteady(ttl);
  state.mode = "held";
  const call = watch(state.lock.acquire());
  await flushMicrotasks();
  state.mode = "silent";
  await nextCommand(time, state);
  const took = await timeUntil(time, call, 2 * ttl);
  assert.ok(took >= ttl && took <= ttl + 5, `${took} ms`);
  await goOn(time, state);
});

/** What the server does after a waiter has joined the queue, time-outs, and the cause that these then have. */
const CAUSES = [
  ["held", [900, 1500, 2400], undefined],
  ["silent", [900], undefined], // before the first heartbeat
  ["silent", [1500, 2400], /not answered/],
  ["failing", [1500, 2400], /Socket closed/],
] as const;

fakeTimeTest("the cause of a waiter's time-out is why its heartbeat has no answer", async (time) => {
  const state = await unsteady(3000);
  for (const [mode, timeouts, cause] of CAUSES) {
    for (const timeout of timeouts) {
      state.mode = "held";
      const call = watch(state.lock.acquire({ timeout }));
      await flushMicrotasks();
      state.mode = mode;
      await timeUntil(time, call, timeout);
      assert.ok(call.reason instanceof TimeoutError);
      if (cause === undefined) assert.equal(call.reason.cause, undefined);
      else assert.match(String(call.reason.cause), cause);
      await goOn(time, state);
    }
  }
});

fakeTimeTest("a time-out before the first heartbeat names the failure of the connection", async (time) => {
  const failure = new Error("connect ECONNREFUSED");
  const backend = { ...scripted((command) => command === "acquire" ? queuedReply() : undefined), failure };
  const call = watch(new RedisLock(backend, "a", { ttl: 3000 }).acquire({ timeout: 900 }));
  await timeUntil(time, call, 900);
  assert.ok(call.reason instanceof TimeoutError);
  assert.equal(call.reason.cause, failure);
});

fakeTimeTest("each pause is twice the last one, up to a second, and short again after an answer", () => {
  const policy = new RetryPolicy(30_000, { timeout: 60_000 });
  for (const usual of [25, 50, 100, 200, 400, 800, 1000, 1000]) {
    const pause = policy.failed(new Error("down"), performance.now())! - performance.now();
    assert.ok(pause >= 0.5 * usual && pause <= 1.5 * usual, `${pause} ms in place of ${usual}`);
  }
  for (let i = 0; i < 50; i++) { // enough for a random pause to show the time that it is drawn from
    policy.answered();
    const pause = policy.failed(new Error("down"), performance.now())! - performance.now();
    assert.ok(pause <= 1.5 * 25, `${pause} ms after an answer`);
  }
});
