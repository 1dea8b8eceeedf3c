/** The queue by itself: order, and nothing left of those that have left. */
import assert from "node:assert/strict";
import { remove, Waiter, waitersOf, WaitQueue, wake } from "../../lib/internal/wait_queue.ts";
import { assertSoundWaitQueue } from "../sound/internal/wait_queue.ts";
import { describe } from "../../lib/internal/waited_for.ts";
import { test } from "../_test.ts";
import { type Random, seeded } from "../_tools.ts";

const TESTING = describe("event", "wait for a test");

class Numbered extends Waiter<void> {
  readonly id: number;
  constructor(id: number) {
    super(TESTING);
    this.id = id;
  }
}

function join(queue: WaitQueue<void, Numbered>, id: number): Numbered {
  const waiter = new Numbered(id);
  queue.wait(waiter);
  return waiter;
}

test("WaitQueue: behaves as a list from which some are removed in the middle", () =>
  seeded((random: Random) => {
    const queue = new WaitQueue<void, Numbered>();
    let model: Numbered[] = [];
    let next = 0;
    for (let step = 0; step < 20_000; step++) {
      // Phases in which it grows, and phases in which it shrinks.
      const act = random.below(step % 4000 < 2000 ? 5 : 8);
      if (act < 3) model.push(join(queue, next++));
      else if (act === 3 && model.length > 0) {
        const [gone] = model.splice(random.below(model.length), 1);
        remove(queue, gone!);
      } else if (act === 7 && random.below(50) === 0) {
        const out: Numbered[] = [];
        out.push(...queue.takeAll());
        assert.deepEqual(out.map((one) => one.id), model.map((one) => one.id));
        model = [];
      } else if (act === 6) {
        const count = random.below(4);
        const woken = model.splice(0, count);
        wake(queue, undefined, count);
        assert.ok(woken.every((one) => !one.queued));
      } else assert.equal(queue.take(), model.shift());
      assert.equal(queue.size, model.length);
      assert.equal(queue.peek(), model[0]);
      if (step % 100 === 0) assertSoundWaitQueue(queue);
      if (step % 100 === 0) assert.deepEqual(waitersOf(queue), model);
    }
    return Promise.resolve();
  }));

test("WaitQueue: is empty in every respect after a long queue has been served", () => {
  const queue = new WaitQueue<void, Numbered>();
  for (let round = 0; round < 3; round++) {
    const waiters = Array.from({ length: 5000 }, (_, i) => join(queue, i));
    if (round === 0) { while (queue.size > 0) wake(queue, undefined, 3); }
    else if (round === 1) wake(queue, undefined);
    else queue.takeAll();
    assert.deepEqual([queue.size, queue.peek(), queue.take()], [0, undefined, undefined]);
    assert.ok(waiters.every((one) => one.next === undefined), "no waiter keeps another one alive");
  }
});
