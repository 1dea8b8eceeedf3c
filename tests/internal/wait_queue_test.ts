/** The line by itself: order, gaps, and that gaps are bounded. */
import assert from "node:assert/strict";
import { Place, WaitQueue } from "../../lib/internal/wait_queue.ts";
import { test } from "../_test.ts";
import { type Random, seeded } from "../_tools.ts";

class Numbered extends Place<void> {
  readonly id: number;
  constructor(id: number) {
    super("wait for a test");
    this.id = id;
  }
}

function join(line: WaitQueue<void, Numbered>, id: number): Numbered {
  const waiter = new Numbered(id);
  line.wait(waiter);
  return waiter;
}

test("WaitQueue: behaves as a list from which some go in the middle", () =>
  seeded((random: Random) => {
    const line = new WaitQueue<void, Numbered>();
    let model: Numbered[] = [];
    let next = 0;
    for (let step = 0; step < 20_000; step++) {
      // Phases in which it grows, and phases in which it shrinks.
      const act = random.below(step % 4000 < 2000 ? 5 : 8);
      if (act < 3) model.push(join(line, next++));
      else if (act === 3 && model.length > 0) {
        const [gone] = model.splice(random.below(model.length), 1);
        line.drop(gone!);
      } else if (act === 7 && random.below(50) === 0) {
        const out: Numbered[] = [];
        line.empty((one) => out.push(one));
        assert.deepEqual(out.map((one) => one.id), model.map((one) => one.id));
        model = [];
      } else assert.equal(line.wakeOne(), model.shift());
      assert.equal(line.size, model.length);
      assert.equal(line.peek(), model[0]);
      if (step % 100 === 0) assert.deepEqual(line.living(), model);
    }
    return Promise.resolve();
  }));

test("WaitQueue: wakes all who wait, and who joins after that waits", async () => {
  const line = new WaitQueue<string>();
  const order: string[] = [];
  const waits = ["a", "b"].map((name) => line.wait(new Place("wait")).then((value) => order.push(name + value)));
  line.wakeAll("!");
  const late = line.wait(new Place("wait")).then((value) => order.push("c" + value));
  await Promise.all(waits);
  assert.equal(line.size, 1);
  line.wakeOne("?");
  await late;
  assert.deepEqual(order, ["a!", "b!", "c?"]);
});

test("WaitQueue: is empty in every respect after a long line is gone", () => {
  const line = new WaitQueue<void, Numbered>();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 5000; i++) join(line, i);
    if (round === 0) { while (line.wakeOne()); }
    else if (round === 1) line.wakeAll();
    else line.empty((waiter) => waiter.resolve = undefined);
    assert.deepEqual([line.size, line.peek(), line.take(), line.wakeOne()], [0, undefined, undefined, undefined]);
    assert.equal(line.length, 0);
  }
});

test("WaitQueue: who gave up takes up no more room than who waits", () => {
  const line = new WaitQueue<void, Numbered>();
  const patient = join(line, 0);
  for (let round = 0; round < 2000; round++) line.drop(join(line, 1));
  assert.deepEqual([line.size, line.peek()], [1, patient]);
  assert.ok(line.length <= 34, `${line.length} places`);
  // A crowd that leaves takes its room along.
  const crowd = Array.from({ length: 5000 }, (_, i) => join(line, i));
  assert.ok(line.length >= 5000);
  for (const waiter of crowd) line.drop(waiter);
  assert.ok(line.length <= 34, `${line.length} places`);
});
