/** Lock beyond the contract suite: release by hand, and the step of a hand-off. */
import assert from "node:assert/strict";
import { Lock } from "../mod.ts";
import { test } from "./_test.ts";
import { states, watch } from "./_tools.ts";

test("Lock: release by hand spends the holder's guard", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const next = lock.acquire();
  lock.release();
  assert.equal(guard.held, false);
  const nextGuard = await next;
  guard.release();
  assert.equal(nextGuard.held, true);
  assert.equal(lock.locked, true);
  lock.release();
  assert.equal(lock.locked, false);
});

test("Lock: the hold is passed on in the step of the release, and a microtask later the waiter goes on", async () => {
  const lock = new Lock();
  const guard = lock.tryAcquire()!;
  let hops = -1;
  const waiter = lock.acquire().then(() => hops = counter);
  let counter = 0;
  guard.release();
  assert.equal(lock.locked, true);
  assert.equal(lock.tryAcquire(), undefined);
  for (; counter < 5 && hops < 0; counter++) await Promise.resolve();
  await waiter;
  assert.equal(hops, 0, "one hop");
  lock.release();
});

test("Lock: a release in an abort listener that runs first does not grant to a waiter cancelled by the same abort", async () => {
  const lock = new Lock();
  const controller = new AbortController();
  const guard = await lock.acquire();
  controller.signal.addEventListener("abort", () => guard.release());
  const aborted = [0, 1].map(() => watch(lock.acquire({ signal: controller.signal })));
  const last = watch(lock.acquire());
  controller.abort();
  assert.equal(await states([...aborted, last]), "rejected rejected fulfilled");
  lock.release();
  assert.equal(lock.locked, false);
});
