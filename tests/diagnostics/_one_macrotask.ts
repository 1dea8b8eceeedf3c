/**
 * 100,000 contended runs through a Queue and a Lock, all in one macrotask, with a watchdog on. Prints by how many MB the
 * heap has grown before the macrotask ends: until then, an engine keeps the target of each WeakRef that was made.
 */
import process from "node:process";
import { Lock, Queue } from "../../mod.ts";
import { watchdog } from "../../lib/diagnostics/mod.ts";
import { heap } from "./_heap.ts";

const COUNT = 100_000;
const CONSUMERS = 4;

using _ = watchdog({ report() {} });
const queue = new Queue<number>(10), lock = new Lock({ name: "lock" });
const before = heap();
async function produce(): Promise<void> {
  for (let i = 0; i < COUNT; i++) await queue.put(i);
}
async function consume(): Promise<void> {
  for (let i = 0; i < COUNT / CONSUMERS; i++) {
    await queue.get();
    await lock.run(() => Promise.resolve());
  }
}
await Promise.all([produce(), ...Array.from({ length: CONSUMERS }, consume)]);
console.log(Math.round((heap() - before) / 1e6));
process.exit();
