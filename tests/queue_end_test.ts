/** Queue: close, cancel, join, and iteration with and without limits. */
import assert from "node:assert/strict";
import { ClosedError, Queue } from "../mod.ts";
import { assertSoundQueue } from "./sound/queue.ts";
import { test } from "./_test.ts";
import {
  badWaitOptions,
  CountingController,
  flushMicrotasks,
  refusesBadOptions,
  rejectsWith,
  states,
  watch,
  withFakeTime,
} from "./_tools.ts";

async function collect<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item);
  return into;
}

test("queue: close rejects what waits to put, leaves what is in it, then ends", async () => {
  const queue = new Queue<number>(1, { name: "jobs" });
  queue.tryPut(1);
  const putting = watch(queue.put(2));
  queue.close();
  queue.close();
  assert.equal(queue.closed, true);
  assert.equal(await states([putting]), "rejected");
  assert.ok(putting.reason instanceof ClosedError);
  assert.equal(putting.reason.message, 'Cannot put into queue "jobs": queue is closed');
  assert.throws(() => queue.tryPut(3), ClosedError);
  await assert.rejects(queue.put(3), ClosedError);
  assert.equal(await queue.get(), 1);
  await assert.rejects(queue.get(), /^ClosedError: Cannot get from queue "jobs": queue is closed$/);
  assert.throws(() => queue.tryGet(), ClosedError);
  assertSoundQueue(queue);
});

test("queue: close rejects getters of an empty queue, in order, each with an error of its own", async () => {
  const queue = new Queue<number>();
  const order: number[] = [];
  const errors = [0, 1, 2].map((index) =>
    queue.get().then(() => assert.fail("got"), (error) => (order.push(index), error as Error))
  );
  queue.close();
  const [first, second] = await Promise.all(errors);
  assert.deepEqual(order, [0, 1, 2]);
  assert.ok(first instanceof ClosedError && second instanceof ClosedError && first !== second);
});

test("queue: cancel drops what is in it and rejects what waits with the reason", async () => {
  const reason = new Error("stop");
  const full = new Queue<number>(1);
  full.tryPut(1);
  const putting = watch(full.put(2));
  full.cancel(reason);
  full.cancel(new Error("later"));
  const empty = new Queue<number>();
  const getting = watch(empty.get());
  empty.cancel();
  assert.equal(await states([putting, getting]), "rejected rejected");
  assert.equal(putting.reason, reason);
  assert.equal((getting.reason as Error).name, "AbortError");
  for (const queue of [full, empty]) {
    assert.deepEqual([queue.size, queue.closed], [0, true]);
    await assert.rejects(queue.get(), ClosedError);
    await assert.rejects(queue.put(1), ClosedError);
    assert.throws(() => queue.tryGet(), ClosedError);
    assertSoundQueue(queue);
  }
  await rejectsWith(full[Symbol.asyncIterator]().next(), reason);
  const closed = new Queue<number>();
  closed.tryPut(1);
  closed.close();
  closed.cancel(reason);
  assert.equal(closed.size, 0);
  await rejectsWith(closed[Symbol.asyncIterator]().next(), reason);
});

test("queue: the closed state comes before the signal, arguments before both", async () => {
  const queue = new Queue<number>();
  queue.close();
  const signal = AbortSignal.abort();
  await assert.rejects(queue.get({ signal }), ClosedError);
  await assert.rejects(queue.put(1, { signal }), ClosedError);
  await refusesBadOptions((options) => queue.get(options));
  await refusesBadOptions((options) => queue.put(1, options));
});

test("queue: iteration ends when the queue is closed, and throws the reason when it is cancelled", async () => {
  const queue = new Queue<number>();
  const loop = collect(queue);
  queue.tryPut(1);
  await flushMicrotasks();
  queue.tryPut(2);
  queue.tryPut(3);
  queue.close();
  assert.deepEqual(await loop, [1, 2, 3]);
  assert.deepEqual(await collect(queue), []);

  const other = new Queue<number>();
  const reason = new Error("stop");
  const failing = watch(collect(other));
  await flushMicrotasks();
  other.cancel(reason);
  await rejectsWith(failing.promise, reason);
});

test("queue: an iteration that waits ends when the queue is closed; an iterator iterates over itself", async () => {
  const queue = new Queue<number>();
  const order: string[] = [];
  const iterator = queue[Symbol.asyncIterator]();
  const iterated = collect(iterator).then(() => order.push("iteration"));
  const got = queue.get().catch((error) => order.push(error.name));
  await flushMicrotasks();
  assert.equal(queue.getting, 2);
  queue.close();
  await Promise.all([iterated, got]);
  assert.deepEqual(order.sort(), ["ClosedError", "iteration"]);
  assert.equal(iterator[Symbol.asyncIterator](), iterator);
});

test("queue: several iterations share the items; leaving one takes no further item", async () => {
  const queue = new Queue<number>();
  const seen: string[] = [];
  const loop = async (name: string, most: number) => {
    for await (const item of queue) {
      seen.push(`${name}${item}`);
      if (--most === 0) break;
    }
  };
  const loops = [loop("a", 2), loop("b", 1)];
  for (const item of [1, 2, 3, 4]) queue.tryPut(item);
  await Promise.all(loops);
  assert.deepEqual(seen, ["a1", "b2", "a3"]);
  assert.deepEqual([queue.size, queue.getting, queue.closed], [1, 0, false]);
});

test("queue: an iterator that is left while it waits takes nothing", async () => {
  const queue = new Queue<number>();
  const iterator = queue[Symbol.asyncIterator]();
  const waiting = [watch(iterator.next()), watch(iterator.next())];
  assert.deepEqual(await iterator.return!(), { value: undefined, done: true });
  assert.equal(queue.getting, 0);
  assert.equal(await states(waiting), "fulfilled fulfilled");
  assert.deepEqual(waiting.map(({ value }) => value!.done), [true, true]);
  queue.tryPut(1);
  assert.deepEqual(await iterator.next(), { value: undefined, done: true });
  assert.equal(queue.size, 1);
  queue.cancel();
  assert.deepEqual(await iterator.next(), { value: undefined, done: true });
});

test("queue: taskDone is refused once it was called for each item", async () => {
  const queue = new Queue<number>(2, { name: "jobs" });
  await queue.put(1);
  queue.taskDone();
  const message = /^RangeError: Cannot finish item of queue "jobs": each item is done already$/;
  assert.throws(() => queue.taskDone(), message);
  await queue.join();
});

test("queue: join waits for items that were handed over directly, and checks its options", () =>
  withFakeTime(async (time) => {
    const queue = new Queue<number>();
    const got = queue.get();
    queue.tryPut(1);
    assert.equal(await got, 1);
    const late = watch(queue.join({ timeout: 50 }));
    await assert.rejects(queue.join({ timeout: 0 }), /^TimeoutError: Cannot join queue: timed out after 0 ms$/);
    await time.pass(50);
    assert.equal((late.reason as Error).name, "TimeoutError");
    await rejectsWith(queue.join({ signal: AbortSignal.abort("enough") }), "enough");
    await refusesBadOptions((options) => queue.join(options));
    queue.taskDone();
    await queue.join();
  }));

test("queue: join goes on after close and cancel for the items that were got", async () => {
  for (const end of ["close", "cancel"] as const) {
    const queue = new Queue<number>();
    for (const item of [1, 2, 3]) await queue.put(item);
    await queue.get();
    const join = watch(queue.join());
    queue[end]();
    assert.equal(await states([join, watch(queue.join())]), "pending pending");
    queue.taskDone();
    assert.equal(await states([join]), end === "cancel" ? "fulfilled" : "pending");
    if (end === "close") { for (const _ of [2, 3]) await queue.get().then(() => queue.taskDone()); }
    await join.promise;
    await queue.join();
    assertSoundQueue(queue);
  }
});

test("queue: of three loops that wait, the middle one is aborted; it takes no item, and no listener stays", async () => {
  const queue = new Queue<number>();
  const controllers = [0, 1, 2].map(() => new CountingController());
  const got: number[][] = [[], [], []];
  const loops = controllers.map(({ signal }, i) => watch(collect(queue.values({ signal }), got[i])));
  await flushMicrotasks();
  const reason = new Error("the consumer is stopped");
  controllers[1]!.abort(reason);
  queue.tryPut(1);
  queue.tryPut(2);
  assert.equal(await states(loops), "pending rejected pending");
  assert.equal(loops[1]!.reason, reason);
  queue.close();
  assert.equal(await states(loops), "fulfilled rejected fulfilled");
  assert.deepEqual(got, [[1], [], [2]]);
  assert.deepEqual(controllers.map(({ listeners }) => listeners), [0, 0, 0]);
  assertSoundQueue(queue);
});

test("queue: with an aborted signal a loop throws the reason, and takes nothing even while items are there", async () => {
  const queue = new Queue<number>(1);
  queue.tryPut(1);
  const putting = watch(queue.put(2));
  const controller = new AbortController();
  const reason = new Error("enough");
  const got: number[] = [];
  const loop = async () => {
    for await (const item of queue.values({ signal: controller.signal })) {
      got.push(item);
      controller.abort(reason); // in the body of the loop
    }
  };
  await rejectsWith(loop(), reason);
  assert.equal(await states([putting]), "fulfilled");
  assert.deepEqual([got, queue.size], [[1], 1]);
  await rejectsWith(loop(), reason);
  queue.close();
  await rejectsWith(loop(), reason);
  assert.deepEqual([got, queue.size], [[1], 1]);
  const why = new Error("the queue is cancelled");
  queue.cancel(why);
  await rejectsWith(loop(), why);
});

test("queue: the timeout of values bounds each wait, not the body; the error names the queue", () =>
  withFakeTime(async (time) => {
    const queue = new Queue<number>(Infinity, { name: "jobs" });
    const got: number[] = [];
    const values = queue.values({ timeout: 100 });
    const loop = watch((async () => {
      for await (const item of values) {
        got.push(item);
        if (item === 1) time.advance(500);
      }
    })());
    queue.tryPut(1);
    await flushMicrotasks();
    time.advance(60);
    queue.tryPut(2);
    await flushMicrotasks();
    time.advance(60);
    assert.equal(await states([loop]), "pending");
    time.advance(40);
    assert.equal(await states([loop]), "rejected");
    assert.match(`${loop.reason}`, /^TimeoutError: Cannot get from queue "jobs": timed out after 100 ms$/);
    queue.tryPut(3);
    assert.deepEqual([got, queue.size, await values.next()], [[1, 2], 1, { value: 3, done: false }]);
    const atOnce = watch(collect(queue.values({ timeout: 0 })));
    assert.equal(await states([atOnce]), "rejected");
    assertSoundQueue(queue);
  }));

test("queue: values checks its options in the call, and reads them once", async () => {
  const queue = new Queue<number>();
  for (const [options, Wrong, message] of badWaitOptions) {
    assert.throws(
      () => queue.values(options as never),
      (error) => error instanceof Wrong && message.test(error.message),
    );
  }
  const options = { signal: new AbortController().signal };
  const values = queue.values(options);
  options.signal = AbortSignal.abort();
  queue.tryPut(1);
  assert.deepEqual(await values.next(), { value: 1, done: false });
});
