/** Event: set releases all waiters, in any order with the other calls of the same tick. */
import assert from "node:assert/strict";
import { Event, TimeoutError } from "../mod.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { test } from "./_test.ts";
import { states, watch } from "./_tools.ts";

test("Event: calls with and without options are counted, and resume in the order in which they came", async () => {
  const event = new Event();
  const order: number[] = [];
  const wait = (i: number) => event.wait([undefined, undefined, { timeout: 1e6 }, {}][i % 4]).then(() => order.push(i));
  for (const count of [20, 3]) {
    const middle = new AbortController();
    const waiters = [];
    for (let i = 0; i < count; i++) {
      if (i === 2) waiters.push(event.wait({ signal: middle.signal }).catch(() => {}));
      if (i === 3 && count > 3) middle.abort();
      waiters.push(wait(i));
    }
    assert.equal(event.waiting, count === 3 ? 4 : count);
    {
      using _ = observe({}); // calls are observed one by one
      waiters.push(wait(count), wait(count + 1));
    }
    waiters.push(wait(count + 2));
    event.set();
    assert.equal(event.waiting, 0);
    event.clear();
    await Promise.all(waiters);
    assert.deepEqual(order.splice(0), Array.from({ length: count + 3 }, (_, i) => i));
  }
});

test("Event: timeout 0 asks", async () => {
  const event = new Event();
  await assert.rejects(event.wait({ timeout: 0 }), TimeoutError);
  event.set();
  await event.wait({ timeout: 0 });
});

test("Event: an observer that sets it inside of a wait, and stops observing, leaves nothing behind", async () => {
  const event = new Event();
  const observing = observe({
    wait: () => {
      observing[Symbol.dispose]();
      event.set();
    },
  });
  await event.wait();
  event.clear();
  const later = watch(event.wait());
  assert.deepEqual([await states([later]), event.waiting], ["pending", 1]);
  event.set();
  await later.promise;
});
