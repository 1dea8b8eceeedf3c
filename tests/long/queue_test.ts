/** A million items through a Queue of capacity 1: none is lost, and memory stays flat. */
import assert from "node:assert/strict";
import process from "node:process";
import { Queue } from "../../mod.ts";
import { test } from "../_test.ts";

const ITEMS = 1_000_000;

test("queue: a million items through a capacity of 1, memory flat", async () => {
  const { gc } = globalThis as { gc?: () => void };
  const heap = () => {
    gc?.();
    return process.memoryUsage().heapUsed;
  };
  const queue = new Queue<{ readonly item: number }>(1);
  const produce = async () => {
    for (let item = 0; item < ITEMS; item++) await queue.put({ item });
    queue.close();
  };
  const producing = produce();
  let expected = 0;
  const sizes: number[] = [];
  for await (const { item } of queue) {
    if (item !== expected++) assert.fail(`got ${item}`);
    if (expected % (ITEMS / 10) === 0) sizes.push(heap());
  }
  await producing;
  assert.deepEqual([expected, queue.size, queue.putting], [ITEMS, 0, 0]);
  // A leak of 100 bytes an item would be 50 MB by then. Without `--expose-gc` the heap swings.
  const growth = Math.min(...sizes.slice(5)) - Math.max(...sizes.slice(0, 5));
  assert.ok(growth < 30e6, `the heap has grown by ${growth} bytes`);
});
