/** Many that end together take a time that grows with their number, not with its square. Measured, so not every day. */
import assert from "node:assert/strict";
import { observe } from "../../lib/diagnostics/mod.ts";
import { Event, Lock, SingleFlight, TaskGroup } from "../../mod.ts";
import { test } from "../_test.ts";

/** How much longer `fn(20 * count)` takes than `fn(count)`, each at its quickest: 20 to 80, or 400 for a square. */
async function growth(count: number, fn: (count: number) => Promise<unknown>): Promise<number> {
  let few = Infinity, many = Infinity;
  const timed = async (count: number) => {
    const start = performance.now();
    await fn(count);
    return performance.now() - start;
  };
  for (let i = 0; i < 3; i++) { // in turns, so that both meet what else the machine does
    few = Math.min(few, await timed(count));
    many = Math.min(many, await timed(20 * count));
  }
  return many / few;
}

// For each rejection without a handler, Deno searches a list of all: handlers have to be there in time.
const LINEAR = 150;

test("growth: waiters of a Lock that are cancelled together", async () => {
  const cancelled = async (count: number) => {
    const lock = new Lock();
    lock.tryAcquire();
    const waiters = Array.from({ length: count }, () => lock.acquire().catch(() => {}));
    lock.cancel();
    await Promise.all(waiters);
  };
  assert.ok(await growth(1000, cancelled) < LINEAR);
});

test("growth: runs of a SingleFlight that fail together", async () => {
  const fail = () => Promise.reject(new RangeError("each of them"));
  const failed = (count: number) => {
    const flights = new SingleFlight<number>();
    return Promise.all(Array.from({ length: count }, (_, key) => flights.run(key, fail).catch(() => {})));
  };
  assert.ok(await growth(2000, failed) < LINEAR);
});

test("growth: waits that end in one step next to an observer", async () => {
  let ended = 0;
  using _ = observe({ grant: () => ended++ });
  const set = (count: number) => {
    const event = new Event();
    const waits = Array.from({ length: count }, () => event.wait());
    event.set();
    return Promise.all(waits);
  };
  assert.ok(await growth(5000, set) < LINEAR);
  assert.equal(ended, 3 * 21 * 5000);
});

test("growth: failures of a TaskGroup", async () => {
  const failed = async (count: number) => {
    const group = new TaskGroup();
    for (let i = 0; i < count; i++) group.run(() => Promise.reject(i));
    const { errors } = await group.join().catch((error) => error);
    assert.equal(errors.length, count);
  };
  assert.ok(await growth(1000, failed) < LINEAR);
});
