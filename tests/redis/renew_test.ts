/** The option `renew`: always, never, or for a time after the grant. */
import assert from "node:assert/strict";
import { memoryBackend, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { fakeTimeTest, scripted } from "./_scripted.ts";
import { Warnings } from "./_warnings.ts";

const REASON = (lease: { signal: AbortSignal }) => (lease.signal.reason as Error).message;

fakeTimeTest("renew: ms: not renewed after that time, and lost one ttl later at the latest", async (time) => {
  using _ = new Warnings();
  const backend = memoryBackend();
  for (const renew of [1, 2500, 10_000]) {
    const lease = await new RedisLock(backend, "a", { ttl: 3000, renew }).acquire();
    let held = 0;
    while (lease.held) {
      await time.pass(50, 50);
      held += 50;
    }
    assert.ok(held <= renew + 3000, `${renew}: held for ${held} ms`);
    assert.ok(held >= Math.max(2900, renew + 900), `${renew}: held for ${held} ms`);
    assert.match(
      REASON(lease),
      new RegExp(`its ttl of 3000 ms is over, and it is not renewed \\(renew: ${renew}\\)$`),
    );
    assert.equal(await lease.release(), false);
  }
  await time.pass(61_000, 1000);
});

fakeTimeTest("renew: ms: extend goes beyond it, once for each call", async (time) => {
  using _ = new Warnings();
  const lease = await new RedisLock(memoryBackend(), "a", { ttl: 3000, renew: 1000 }).acquire();
  await time.pass(3500, 50);
  await lease.extend();
  await time.pass(2900, 50);
  assert.equal(lease.held, true);
  await lease.extend(6000);
  await time.pass(5900, 50);
  assert.equal(lease.held, true);
  await time.pass(200, 50);
  assert.equal(lease.held, false);
  await time.pass(61_000, 1000);
});

fakeTimeTest("renew: ms: a renewal that failed once and then passed is no reason for the end", async (time) => {
  using _ = new Warnings();
  let renewals = 0;
  const backend = scripted((command) => {
    if (command === "renew" && ++renewals === 1) throw new Error("connect ECONNREFUSED");
  });
  const lease = await new RedisLock(backend, "a", { ttl: 3000, renew: 2500 }).acquire();
  await time.pass(6000, 50);
  assert.match(REASON(lease), /its ttl of 3000 ms is over, and it is not renewed \(renew: 2500\)$/);
});

test("renew: a number that is no time above 0 is a RangeError, another value a TypeError", () => {
  const make = (renew: unknown) => () => new RedisLock(memoryBackend(), "a", { renew: renew as number });
  for (const renew of [0, -1, NaN]) {
    assert.throws(make(renew), {
      name: "RangeError",
      message: `renew must be above 0 milliseconds, or false, got ${renew}`,
    });
  }
  for (const renew of ["1000", null, {}]) {
    assert.throws(make(renew), { name: "TypeError", message: /^renew must be a boolean or a number/ });
  }
  for (const renew of [0.5, Infinity, undefined, true, false]) make(renew)();
});
