/** Replaced timers: a call ends by the clock under which it was made, and a call that is left over affects no later one. */
import assert from "node:assert/strict";
import { Event, type Guard, KeyedRateLimiter, Lock, Pool, RateLimiter, TimeoutError } from "../../mod.ts";
import { fakes, sinon, under } from "./_fake_clocks.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, states, until, watch, type Watched } from "../_tools.ts";

for (const [name, make] of Object.entries(fakes)) {
  test(`fake clock (${name}): each call ends at its own time`, () =>
    under(make, async (fake) => {
      const event = new Event();
      const first = watch(event.wait({ timeout: 100 }));
      fake.advance(30);
      const waiters = [first, watch(event.wait({ timeout: 100 })), watch(event.wait({ timeout: 20 }))];
      fake.advance(19);
      assert.equal(await states(waiters), "pending pending pending");
      fake.advance(1);
      assert.equal(await states(waiters), "pending pending rejected");
      fake.advance(49);
      assert.equal(await states(waiters), "pending pending rejected");
      fake.advance(1);
      assert.equal(await states(waiters), "rejected pending rejected");
      fake.advance(29);
      assert.equal(await states(waiters), "rejected pending rejected");
      fake.advance(1);
      assert.equal(await states(waiters), "rejected rejected rejected");
      for (const { reason } of waiters) assert.ok(reason instanceof TimeoutError);
    }));

  test(`fake clock (${name}): times above what a timer can count`, () =>
    under(make, async (fake) => {
      const waiter = watch(new Event().wait({ timeout: 2 ** 31 + 10 }));
      fake.advance(2 ** 31 - 1);
      fake.advance(10);
      assert.equal(await states([waiter]), "pending");
      fake.advance(1);
      assert.equal(await states([waiter]), "rejected");
    }));

  test(`fake clock (${name}): a call left unfinished affects no later one, real or fake`, async () => {
    const event = new Event();
    const left: Watched<void>[] = [];
    for (let round = 0; round < 2; round++) {
      await under(make, async () => {
        left.push(watch(event.wait({ timeout: 5 })));
        await flushMicrotasks();
      });
      await assert.rejects(event.wait({ timeout: 5 }), TimeoutError);
      await under(make, async (fake) => {
        const next = watch(event.wait({ timeout: 5 }));
        fake.advance(5);
        assert.equal(await states([next]), "rejected");
      });
    }
    event.set();
    await states(left);
  });

  test(`fake clock (${name}): a call that ends after its clock is gone clears no timer`, async () => {
    const lock = new Lock();
    const guard = await lock.acquire();
    let next: Promise<Guard> | undefined;
    await under(make, async () => {
      next = lock.acquire({ timeout: 60_000 });
      await flushMicrotasks();
    });
    guard.release();
    (await next!).release();
    assert.equal(lock.locked, false);
  });
}

test("fake clock: a call of the real clock that ends under a fake one leaves no timer", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const next = lock.acquire({ timeout: 60_000 }); // a timer left over would be found by the sanitizers, or at exit
  await under(() => sinon(), async () => {
    guard.release();
    (await next).release();
  });
  await assert.rejects(new Event().wait({ timeout: 1 }), TimeoutError);
});

test("fake clock: waits of one time that began before it end by the real clock", async () => {
  const event = new Event();
  const first = watch(event.wait({ timeout: 20 }));
  await assert.rejects(event.wait({ timeout: 2 }), TimeoutError);
  const second = watch(event.wait({ timeout: 20 }));
  await under(() => sinon(), async () => {
    await assert.rejects(first.promise, TimeoutError);
  });
  await until(() => second.state === "rejected");
});

test("queueMicrotask replaced, as Jest and Sinon do by default: a start of then holds up no later one", async () => {
  const limiter = new RateLimiter(2, 1);
  await under(() => sinon(["queueMicrotask"]), () => limiter.acquire());
  for (let i = 0; i < 4; i++) await limiter.acquire({ timeout: 1000 });
});

for (const [name, make] of Object.entries(fakes)) {
  test(`fake clock (${name}): rate limiters, also of keys and pools, serve several windows of one turn`, () =>
    under(make, async (fake) => {
      const limiter = new RateLimiter(1, 1000);
      const keyed = new KeyedRateLimiter<string>(1, 1000);
      const pool = new Pool(5, { rate: new RateLimiter(1, 1000) });
      const starts = [() => limiter.acquire(), () => keyed.acquire("a"), () => pool.run(() => {})];
      const calls = starts.flatMap((start) => [1, 2, 3].map(() => watch(start())));
      for (let i = 0; i < 2; i++) fake.advance(1000); // no microtask in between
      assert.equal(await states(calls), Array(9).fill("fulfilled").join(" "));
    }));
}
