/** Renewing many leases at the right moments. */
import assert from "node:assert/strict";
import { type Backend, RedisLock } from "../../../lib/redis/mod.ts";
import { deferred, flushMicrotasks, watch } from "../../_tools.ts";
import { fakeTimeTest, nothing, scripted } from "../_scripted.ts";
import { commandOf, renewalOf } from "../_command_of.ts";

fakeTimeTest("a listener of one lost lease may extend another that is due", async (time) => {
  const answers: (() => void)[] = [];
  let slow = false;
  const backend = scripted(async (command) => {
    if (command !== "renew" || !slow) return;
    await new Promise<void>((resolve) => answers.push(resolve));
  });
  const kept = await new RedisLock(backend, "a", { ttl: 600 }).acquire(); // looked at before the other one
  const lost = await new RedisLock(backend, "b", { ttl: 300, renew: false }).acquire();
  await kept.extend(); // the script is known from now on
  slow = true;
  let extended: ReturnType<typeof watch<void>> | undefined;
  lost.signal.addEventListener("abort", () => extended = watch(kept.extend(700)));
  time.block(350); // one look finds both: one is due, the other one out of time
  await flushMicrotasks();
  assert.equal(answers.length, 2); // the renewal, which is refused as late if it comes second, and the extension
  for (const answer of answers) answer();
  await flushMicrotasks();
  assert.equal(extended?.state, "fulfilled");
  assert.equal(kept.ttl, 700);
  assert.equal(await kept.release(), true);
});

fakeTimeTest("2,000 leases cost one command for each 100 of them in a third of their ttl", async (time) => {
  let commands = 0;
  const backend = scripted((command) => {
    if (command === "renew") commands++;
    return undefined;
  });
  const locks = Array.from({ length: 2000 }, (_, i) => new RedisLock(backend, `lock ${i}`, { ttl: 3000 }));
  const leases = await Promise.all(locks.map((lock) => lock.acquire()));
  const ends = leases.map((lease) => lease.expiresAt);
  await time.pass(1200);
  assert.equal(commands, 20);
  assert.ok(leases.every((lease, i) => lease.held && lease.expiresAt > ends[i]! + 500));
  await Promise.all(leases.map((lease) => lease.release()));
});

fakeTimeTest("in a cluster, a node that is silent holds up no renewal of another one", async (time) => {
  const usual = scripted(() => undefined);
  const run: Backend["evalsha"] = (sha, keys, args) =>
    keys.length === 1 && keys[0]!.includes("silent") ? nothing : usual.evalsha(sha, keys, args);
  const backend: Backend = { evalsha: run, eval: run, cluster: true };
  const acquire = (name: string) => new RedisLock(backend, name, { ttl: 600 }).acquire();
  const silent = await Promise.all(Array.from({ length: 10 }, (_, i) => acquire(`silent ${i}`)));
  const healthy = await Promise.all(Array.from({ length: 10 }, (_, i) => acquire(`healthy ${i}`)));
  await time.pass(1500);
  assert.deepEqual([silent.some(({ held }) => held), healthy.every(({ held }) => held)], [false, true]);
  assert.deepEqual(await Promise.all(healthy.map((lease) => lease.release())), Array(10).fill(true));
});

fakeTimeTest("answers of numbers as text are understood", async (time) => {
  const backend = scripted((command) => command === "renew" ? ["1"] : undefined);
  const lease = await new RedisLock(backend, "a", { ttl: 600 }).acquire();
  await time.pass(1500);
  assert.equal(lease.held, true);
  await lease.extend();
  assert.equal(await lease.release(), true);
});

fakeTimeTest("a lost answer to a batch costs the shortest lease in it nothing", async (time) => {
  let lose = true;
  const backend = scripted((command, args) => {
    if (command !== "renew" || !lose || args.length < 2) return; // one batch of two leases
    lose = false;
    return nothing;
  });
  const short = await new RedisLock(backend, "a", { ttl: 1500 }).acquire();
  const long = await new RedisLock(backend, "b", { ttl: 4500 }).acquire();
  await long.extend(1400); // due together with the short one, with the long one's time for an answer
  const renewed = long.extend(4500);
  await flushMicrotasks();
  await renewed;
  await time.pass(6000);
  assert.deepEqual([lose, short.held, long.held], [false, true, true]);
  assert.deepEqual(await Promise.all([short.release(), long.release()]), [true, true]);
});

fakeTimeTest("a renewal whose reply is late counts, unless a later command has set the end", async (time) => {
  for (const extended of [false, true]) {
    const reply = deferred<unknown>();
    let renewals = 0;
    let extensions = 0;
    const backend = scripted((command, args) => {
      if (command !== "renew") return;
      if (renewalOf(args[0]!).extensions === 1 && extensions++ === 0) return;
      return renewals++ === 0 ? reply.promise : nothing;
    });
    const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
    const { expiresAt } = lease;
    await time.pass(2100); // its time was over after 1,000 ms
    assert.ok(renewals >= 1);
    if (extended) await lease.extend(900);
    const ends = lease.expiresAt;
    reply.resolve([1]);
    await flushMicrotasks();
    if (extended) assert.equal(lease.expiresAt, ends);
    else assert.ok(lease.expiresAt >= expiresAt + 800, `${lease.expiresAt - expiresAt}`);
    await time.pass(1200);
    assert.equal(lease.held, !extended);
    const released = lease.release();
    await time.pass(5000);
    await released;
  }
});

fakeTimeTest("a batch that a cluster's proxy refuses is sent as single renewals from then on", async (time) => {
  let refused = 0;
  const usual = scripted(() => undefined);
  const run: Backend["evalsha"] = (sha, keys, args) => {
    const isBatch = commandOf(keys, args) === "renew" && args.length > 1;
    if (!isBatch) return usual.evalsha(sha, keys, args);
    refused++;
    return Promise.reject(new Error("CROSSSLOT Keys in request don't hash to the same slot"));
  };
  const backend: Backend = { evalsha: run, eval: run };
  const acquire = (name: string) => new RedisLock(backend, name, { ttl: 3000 }).acquire();
  const leases = await Promise.all(["a", "b", "c"].map(acquire));
  await time.pass(10_000, 50);
  assert.equal(refused, 1);
  assert.deepEqual(await Promise.all(leases.map((lease) => lease.release())), [true, true, true]);
});

fakeTimeTest("a renewal that fails is sent again after a 20th of the ttl", async (time) => {
  const sent: number[] = [];
  const backend = scripted((command) => {
    if (command === "renew" && sent.push(performance.now()) <= 3) throw new Error("connect ECONNREFUSED");
  });
  const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
  await time.pass(1500, 10);
  assert.equal(sent.length, 4);
  for (let i = 1; i < 4; i++) assert.ok(sent[i]! - sent[i - 1]! <= 160, `${sent}`);
  assert.equal(await lease.release(), true);
});
