/** Queue: values, messages, observers and signals. Its walk has order, hand-over and room. */
import assert from "node:assert/strict";
import { Queue, TimeoutError, type WaitOptions } from "../mod.ts";
import { assertSoundQueue } from "./sound/queue.ts";
import { test } from "./_test.ts";
import { states, watch, withFakeTime } from "./_tools.ts";
import { observe } from "../lib/diagnostics/mod.ts";

/** All that is in it, in order. */
function drain<T>(queue: Queue<T>): T[] {
  const items: T[] = [];
  for (let next = queue.tryGet(); next !== undefined; next = queue.tryGet()) items.push(next.value);
  return items;
}

test("queue: any value is an item, also undefined and a promise that rejects", async () => {
  const queue = new Queue<unknown>();
  queue.tryPut(undefined);
  assert.deepEqual(queue.tryGet(), { value: undefined });
  const failed = Promise.reject(new Error("item"));
  failed.catch(() => {});
  queue.tryPut(failed);
  assert.equal(queue.tryGet()?.value, failed);
  queue.tryPut(failed);
  await assert.rejects(queue.get(), /item/);
  queue.tryPut(failed);
  for await (const item of queue) {
    assert.equal(item, failed);
    break;
  }
});

test("queue: time-outs name the call and the queue", () =>
  withFakeTime(async (time) => {
    const queue = new Queue<number>(1, { name: "jobs" });
    const getting = watch(queue.get({ timeout: 20 }));
    time.advance(20);
    queue.tryPut(1);
    const putting = watch(queue.put(2, { timeout: 30 }));
    time.advance(30);
    assert.equal(await states([getting, putting]), "rejected rejected");
    assert.ok(getting.reason instanceof TimeoutError);
    assert.equal(getting.reason.message, 'Cannot get from queue "jobs": timed out after 20 ms');
    assert.equal((putting.reason as Error).message, 'Cannot put into queue "jobs": timed out after 30 ms');
    assert.deepEqual(drain(queue), [1]);
  }));

test("queue: arguments are checked", () => {
  assert.throws(() => new Queue("5" as never), /^TypeError: capacity must be a number, got "5"/);
  for (const capacity of [0, -1, 1.5, NaN, -Infinity]) assert.throws(() => new Queue(capacity), RangeError);
  assert.throws(() => new Queue(1, { name: 5 as never }), TypeError);
  assert.equal(new Queue(undefined, { name: "jobs" }).name, "jobs");
});

test("queue: a call whose signal has aborted and has not yet notified it gets no item, and puts none in", async () => {
  const queue = new Queue<number>(1);
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => queue.tryPut(1)); // before the listener of the call
  const getters = [queue.get({ signal: controller.signal }), queue.get()].map(watch);
  controller.abort();
  assert.equal(await states(getters), "rejected fulfilled");

  const other = new AbortController();
  const seen: unknown[] = [];
  queue.tryPut(2);
  other.signal.addEventListener("abort", () => seen.push(queue.tryGet()?.value));
  using _ = observe({ giveUp: () => void seen.push(queue.tryPut(9)) });
  const putters = [queue.put(3, { signal: other.signal }), queue.put(4)].map(watch);
  other.abort();
  assert.equal(await states(putters), "rejected fulfilled");
  assert.deepEqual([...seen, ...drain(queue)], [false, 2, 4], "no newcomer overtakes the second put");
});

test("queue: a call of next that its loop ends has left the queue when observers hear of it", async () => {
  const queue = new Queue<number>();
  const seen: unknown[] = [];
  using _ = observe({ giveUp: () => void seen.push([queue.getting, queue.tryPut(7), queue.size]) });
  const loop = queue[Symbol.asyncIterator]();
  const next = loop.next();
  await loop.return!();
  assert.deepEqual(await next, { value: undefined, done: true });
  assert.deepEqual(seen, [[0, true, 1]], "the item goes to no call that has ended");
});

test("queue: the listener of a signal closes it, and an observer uses it then: it is closed for everything", async () => {
  for (const end of ["close", "cancel"] as const) {
    for (const side of ["get", "put"] as const) {
      const queue = new Queue<number>(1);
      if (side === "put") queue.tryPut(0);
      const controller = new AbortController();
      controller.signal.addEventListener("abort", () => queue[end]());
      const seen: unknown[] = [];
      const use = (method: () => unknown) => {
        try {
          seen.push(method());
        } catch (error) {
          seen.push((error as Error).name);
        }
      };
      using _ = observe({
        giveUp({ outcome }) {
          if (outcome !== "aborted") return;
          use(() => queue.tryGet());
          use(() => queue.tryPut(1));
        },
      });
      const call = (options?: WaitOptions) =>
        watch<unknown>(side === "get" ? queue.get(options) : queue.put(2, options));
      const calls = [call({ signal: controller.signal }), call()];
      controller.abort();
      assert.equal(await states(calls), "rejected rejected", `${side}, ${end}`);
      const got = side === "put" && end === "close" ? { value: 0 } : "ClosedError";
      assert.deepEqual(seen, [got, "ClosedError"], `${side}, ${end}`);
      assertSoundQueue(queue);
    }
  }
});

test("queue: per producer, items stay in order through many growths and shrinkings", () => {
  const queue = new Queue<number>();
  let [put, got] = [0, 0];
  for (const [more, less] of [[10, 3], [1000, 900], [5, 100], [3000, 2990], [20, 30]] as const) {
    for (let i = 0; i < more; i++) queue.tryPut(put++);
    for (let i = 0; i < less && got < put; i++) assert.equal(queue.tryGet()!.value, got++);
    assert.equal(queue.size, put - got);
  }
});
