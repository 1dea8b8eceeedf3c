/** Queue.values: iteration with a signal and a timeout for each wait. */
import assert from "node:assert/strict";
import { Queue } from "../mod.ts";
import { assertSoundQueue } from "./sound/queue.ts";
import { test } from "./_test.ts";
import {
  badWaitOptions,
  CountingController,
  flushMicrotasks,
  rejectsWith,
  states,
  watch,
  withFakeTime,
} from "./_tools.ts";

async function collect<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const item of items) into.push(item);
  return into;
}

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
