/** Commands that come late: what they must not do to a lease, and how long what they leave lasts. */
import assert from "node:assert/strict";
import { type Backend, RedisLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { altered, type Run } from "./_altered.ts";
import { redisTest, until } from "./_clients.ts";
import { type Command, commandOf, renewalOf } from "./_command_of.ts";

/** The same backend; commands for which `holdsBack` is true fail for their caller, and run when the test runs them. */
function holding(backend: Backend, holdsBack: (command: Command, args: string[]) => boolean): [Backend, Run[]] {
  const late: Run[] = [];
  const slow = altered(backend, (run, keys, args) => {
    if (!holdsBack(commandOf(keys, args), args)) return run();
    late.push(run);
    return Promise.reject(new Error("Socket closed unexpectedly"));
  });
  return [slow, late];
}

const bodies = {
  lock: (backend: Backend, ttl: number) => new RedisLock(backend, "a", { ttl }),
  semaphore: (backend: Backend, ttl: number) => new RedisSemaphore(backend, "a", 2, { ttl }),
};

for (const [name, make] of Object.entries(bodies)) {
  redisTest(`${name}: a renewal that comes late shortens nothing that extend has set`, async ({ backend }) => {
    let first = true;
    const [slow, late] = holding(backend, (command) => first && command === "renew" && !(first = false)); // a renewal
    const one = make(slow, 4500);
    const lease = await one.acquire();
    await until(() => late.length === 1);
    await lease.extend(90_000);
    await late[0]!();
    const { holders: [holder], ttl } = await one.inspect();
    assert.ok(holder!.expiresIn > 60_000, `it ends in ${holder!.expiresIn} ms`);
    assert.ok(ttl > holder!.expiresIn, `its data ends in ${ttl} ms`);
    assert.equal(await lease.release(), true);
  });

  redisTest(`${name}: a shorter extend that comes late shortens nothing that was set since`, async ({ backend }) => {
    const [slow, late] = holding(
      backend,
      (command, [renewal]) => command === "renew" && renewalOf(renewal!).extensions === 1,
    ); // with each of its tries
    const one = make(slow, 30_000);
    const lease = await one.acquire();
    const shorter = lease.extend(5000).catch(() => {}); // released while it is tried again
    await until(() => late.length > 0);
    await lease.extend(90_000);
    for (const run of late) await run();
    const [holder] = (await one.inspect()).holders;
    assert.ok(holder!.expiresIn > 60_000, `it ends in ${holder!.expiresIn} ms`);
    assert.equal(lease.ttl, 90_000);
    assert.equal(await lease.release(), true);
    await shorter;
  });

  redisTest(`${name}: an acquire that comes after its release takes nothing`, async ({ backend }) => {
    let first = true;
    const [slow, late] = holding(
      backend,
      (command) => first && command === "acquire" && !(first = false),
    );
    const one = make(slow, 30_000);
    const lease = await one.acquire();
    assert.equal(await lease.release(), true);
    assert.deepEqual(await late[0]!(), [-2]);
    assert.deepEqual((await one.inspect()).holders, []);
  });

  redisTest(
    `${name}: what an acquire leaves that comes after its release, and after another one, ends with its ttl`,
    async (bench) => {
      let first = true;
      const [slow, late] = holding(
        bench.backend,
        (command) => first && command === "acquire" && !(first = false),
      );
      const one = make(slow, 2000);
      await (await one.acquire()).release();
      await (await one.acquire()).release();
      await late[0]!();
      const { holders } = await one.inspect(); // on a busy machine, it may have ended already
      assert.ok(holders.length <= 1 && holders.every(({ expiresIn }) => expiresIn <= 2000), JSON.stringify(holders));
      await until(async () => (await one.inspect()).holders.length === 0);
      await (await one.acquire()).release();
    },
  );
}
