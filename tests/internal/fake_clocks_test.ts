/** Replaced timers: a call ends by the clock under which it was made, and a call that is left over affects no later one. */
import assert from "node:assert/strict";
import { install } from "@sinonjs/fake-timers";
import { Condition, Event, type Guard, Lock, TimeoutError } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { FakeTime, flushMicrotasks, states, watch, type Watched } from "../_tools.ts";

/** A replaced clock, as the tests drive it. */
interface Fake {
  advance(ms: number): void;
  restore(): void;
}

/** Replaces setTimeout and clearTimeout by the same functions each time, and nothing else. */
const handMade = (() => {
  let now = 0;
  let timers: { at: number; fn: () => void }[] = [];
  const start = (fn: () => void, delay = 0) => {
    const timer = { at: now + delay, fn };
    timers.push(timer);
    return timer;
  };
  const clear = (timer: unknown) => {
    assert.ok(timer === undefined || timers.includes(timer as never), "a timer of another clock is cleared");
    timers = timers.filter((one) => one !== timer);
  };
  const real = { setTimeout, clearTimeout };
  return (): Fake => {
    [now, timers] = [0, []];
    Object.assign(globalThis, { setTimeout: start, clearTimeout: clear });
    return {
      advance: (ms) => {
        const end = now + ms;
        for (;;) {
          const [due] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
          if (due === undefined) break;
          now = due.at;
          timers = timers.filter((one) => one !== due);
          due.fn();
        }
        now = end;
      },
      restore: () => void Object.assign(globalThis, real),
    };
  };
})();

/** Sinon's; Vitest and Jest use the same. The runners of the tests themselves need `nextTick`. */
function sinon(toFake?: ("setTimeout" | "clearTimeout")[]): Fake {
  const clock = install(toFake ? { toFake } : { toNotFake: ["nextTick", "queueMicrotask"] });
  return { advance: (ms) => void clock.tick(ms), restore: () => clock.uninstall() };
}

const fakes: Record<string, () => Fake> = {
  "hand-made, with performance": () => new FakeTime(),
  "hand-made, only setTimeout": handMade,
  "sinon": () => sinon(),
  "sinon, only setTimeout": () => sinon(["setTimeout", "clearTimeout"]),
};
if (runtime === "node") {
  const { mock } = await import("node:test");
  fakes["node:test"] = () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    return { advance: (ms) => mock.timers.tick(ms), restore: () => mock.timers.reset() };
  };
}
if (runtime === "bun") {
  const bunTest = "bun:test"; // a variable, so that no other run-time looks for it
  const { jest } = await import(bunTest);
  fakes["bun:test"] = () => {
    jest.useFakeTimers();
    return { advance: (ms) => void jest.advanceTimersByTime(ms), restore: () => void jest.useRealTimers() };
  };
}

async function under(make: () => Fake, fn: (fake: Fake) => Promise<void>): Promise<void> {
  const fake = make();
  try {
    await fn(fake);
  } finally {
    fake.restore();
  }
}

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

  test(`fake clock (${name}): timeout bounds the whole of waitFor`, () =>
    under(make, async (fake) => {
      const condition = new Condition();
      const waiter = watch(condition.run(() => condition.waitFor(() => false, { timeout: 100 })));
      for (let round = 0; round < 3; round++) {
        await flushMicrotasks();
        fake.advance(30);
        await condition.run(() => condition.notifyAll());
      }
      fake.advance(9);
      assert.equal(await states([waiter]), "pending");
      fake.advance(1);
      assert.equal(await states([waiter]), "rejected");
      assert.ok(waiter.reason instanceof TimeoutError);
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
