/** The answers that decide what `release()` resolves to. */
import assert from "node:assert/strict";
import { RedisError, RedisLock } from "../../../lib/redis/mod.ts";
import { deferred, flushMicrotasks, watch } from "../../_tools.ts";
import { clients, ending, redisTest, until } from "../_clients.ts";
import { FaultProxy } from "../faults/_proxy.ts";
import { closable, fakeTimeTest, nothing, scripted } from "../_scripted.ts";

for (const [first, expected] of [[1, true], [0, "unknown"], ["none", "unknown"]] as const) {
  fakeTimeTest(
    `release: the second answer shows other holders; the first one is ${first} and late`,
    async (time) => {
      const answer = deferred<unknown>();
      let releases = 0;
      const backend = scripted((command) => {
        if (command !== "release") return;
        return releases++ === 0 ? answer.promise : [0, 0, 0];
      });
      const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
      const released = watch(lease.release());
      await time.pass(1700);
      assert.deepEqual([releases, released.state], [2, "pending"]);
      if (first !== "none") answer.resolve([first, 0, 0]);
      await time.pass(1500);
      if (expected === true) assert.equal(released.value, true);
      else assert.match(String(released.reason), /the outcome is not known.* for 1000 ms/);
    },
  );
}

fakeTimeTest("release rejects if its answer was lost and the next one shows other holders", async (time) => {
  let releases = 0;
  const backend = scripted((command) => {
    if (command !== "release") return;
    if (releases++ % 2 === 0) throw new Error("Socket closed unexpectedly");
    return [0, 0, 0];
  });
  const lock = new RedisLock(backend, "a");
  const lease = await lock.acquire();
  const released = watch(lease.release());
  await time.pass(2000);
  assert.ok(released.reason instanceof RedisError);
  assert.equal(released.reason.name, "RedisError");
  assert.match(released.reason.message, /^Cannot release lock "a": the outcome is not known.*Socket closed/);
  assert.equal((released.reason.cause as Error).message, "Socket closed unexpectedly");
  assert.equal(lease.release(), released.promise);
  const running = watch(lock.run(() => "done"));
  await time.pass(2000);
  assert.equal(running.value, "done"); // the function has succeeded, and the hold is over
});

fakeTimeTest("release rejects when Redis never replies", async (time) => {
  const backend = scripted((command) => command === "release" ? nothing : undefined);
  const released = watch((await new RedisLock(backend, "a", { ttl: 600 }).acquire()).release());
  await time.pass(2500);
  assert.equal(released.state, "rejected");
  assert.ok(released.reason instanceof RedisError);
});

fakeTimeTest("release rejects if the client is closed before the next attempt", async () => {
  const refused = new Error("LOADING Redis is loading the dataset in memory");
  const { backend, close } = closable(
    scripted((command) => command === "release" ? Promise.reject(refused) : undefined),
  );
  const released = watch((await new RedisLock(backend, "a").acquire()).release());
  await flushMicrotasks();
  close();
  await flushMicrotasks();
  assert.ok(released.reason instanceof RedisError);
  assert.equal(released.reason.cause, refused);
});

for (const client of clients) {
  redisTest(
    `${client.name}: release is not false when its reply was lost, others have held, and it was sent again`,
    async (
      { server, backend },
    ) => {
      await using proxy = await FaultProxy.start(server.port);
      const cut = await client.connect(proxy.url); // some clients repeat the command over their next connection
      await using _ = ending(() => cut.close());
      const others = new RedisLock(backend, "a");
      const lease = await new RedisLock(cut.backend, "a").acquire();
      const next = others.acquire();
      await until(async () => (await others.inspect()).waiting === 1);
      proxy.cutNext("after");
      proxy.refuse();
      const released = lease.release().catch((error) => error);
      await (await next).release();
      await (await others.acquire()).release();
      await proxy.accept();
      const error = await released;
      assert.ok(error instanceof RedisError, String(error));
      assert.match(error.message, /^Cannot release lock "a": /);
    },
  );
}
