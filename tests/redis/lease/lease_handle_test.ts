/** A holder never trusts its lease for longer than the server keeps it. */
import assert from "node:assert/strict";
import { LeaseLostError, RedisError, RedisLock } from "../../../lib/redis/mod.ts";
import { flushMicrotasks, watch } from "../../_tools.ts";
import { fakeTimeTest, nothing, scripted } from "../_scripted.ts";
import { renewalOf } from "../_command_of.ts";

fakeTimeTest("from the moment of asking, no more is trusted than a shorter time leaves", async (time) => {
  const commands: string[] = [];
  const backend = scripted((command, args) => {
    commands.push(command);
    if (command === "renew" && renewalOf(args[0]!).extensions > 0) return nothing;
  });
  const lease = await new RedisLock(backend, "a").acquire();
  const { signal } = lease;
  const extended = watch(lease.extend(900));
  await flushMicrotasks();
  assert.ok(lease.expiresAt <= Date.now() + 900);
  for (let i = 0; i < 89; i++) {
    time.advance(10);
    await flushMicrotasks();
  }
  assert.equal(lease.held, false);
  assert.equal(signal.aborted, true);
  time.advance(100);
  await flushMicrotasks();
  assert.ok(extended.reason instanceof LeaseLostError);
  assert.equal(await lease.release(), false);
  assert.equal(commands.at(-1), "release"); // the server may keep it for much longer otherwise
});

fakeTimeTest("a lease declared with using is released, and the error names await using", async () => {
  const commands: string[] = [];
  const lock = new RedisLock(scripted((command) => void commands.push(command)), "a");
  const lease = await lock.acquire();
  assert.throws(() => {
    // @ts-expect-error: TypeScript finds it
    using _ = lease;
  }, { name: "TypeError", message: "lease must be declared with await using, not with using" });
  assert.equal(lease.held, false);
  await flushMicrotasks();
  assert.equal(commands.at(-1), "release");
});

fakeTimeTest("a lease declared with using, whose release fails, leaves no unhandled rejection", async () => {
  const refused = () => Promise.reject(new Error("NOPERM this user has no permissions to run the 'evalsha' command"));
  const lease = await new RedisLock(scripted((command) => command === "release" ? refused() : undefined), "a")
    .acquire();
  assert.throws(() => {
    // @ts-expect-error: TypeScript finds it
    using _ = lease;
  }, TypeError);
  await flushMicrotasks();
  await assert.rejects(lease.release(), RedisError);
});

fakeTimeTest("a verify that finds less time left than it knew of brings the renewal forward", async (time) => {
  let renewals = 0;
  const backend = scripted((command) => command === "verify" ? [2e6] : void (renewals += Number(command === "renew")));
  const lease = await new RedisLock(backend, "a", { ttl: 30_000 }).acquire();
  assert.equal(await lease.verify(), true); // the server's clock was set ahead
  await time.pass(1900, 100);
  assert.deepEqual([renewals, lease.held], [1, true]);
  await lease.release();
});

fakeTimeTest("a shorter time that comes late is refused, and shortens nothing that was set since", async (time) => {
  let ends = 0;
  let last = 0;
  let refused = 0;
  let lose = false;
  let late = () => {};
  const extend = ([arg = ""]: string[]) => {
    const { extensions, ttl } = renewalOf(arg);
    if (extensions < last) {
      refused++;
      return [2];
    }
    last = extensions;
    ends = performance.now() + ttl;
    return [1];
  };
  const backend = scripted((command, args) => {
    if (command !== "renew") return;
    if (!lose) return extend(args);
    lose = false;
    late = () => void extend(args);
    return Promise.reject(new Error("Socket closed unexpectedly"));
  });
  const lease = await new RedisLock(backend, "a", { renew: false }).acquire();
  await lease.extend();
  lose = true;
  const shorter = watch(lease.extend(600));
  let longer: ReturnType<typeof watch<void>> | undefined;
  for (let ms = 0; ms < 3000; ms += 10) {
    await flushMicrotasks();
    if (ms === 100) longer = watch(lease.extend(60_000));
    if (ms === 150) late();
    assert.ok(!lease.held || ends > performance.now(), `still held after ${ms} ms`);
    time.advance(10);
  }
  assert.deepEqual([shorter.state, longer?.state, refused > 0], ["fulfilled", "fulfilled", true]);
  assert.equal(lease.held, true);
  assert.equal(lease.ttl, 60_000);
  await lease.release();
});

fakeTimeTest("an answer to verify of another shape is an error, and no loss", async () => {
  for (const answer of ["OK", ["x"], [], {}]) {
    const lease = await new RedisLock(scripted((command) => command === "verify" ? answer : undefined), "a")
      .acquire();
    await assert.rejects(lease.verify(), RedisError, JSON.stringify(answer));
    assert.deepEqual([lease.held, lease.signal.aborted], [true, false]);
    assert.equal(await lease.release(), true);
  }
});
