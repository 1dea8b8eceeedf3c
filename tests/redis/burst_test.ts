/** Thousands of calls in one turn: a process that is busy with itself is no silent server. */
import assert from "node:assert/strict";
import { RedisLock, RedisRateLimiter } from "../../lib/redis/mod.ts";
import { altered } from "./_altered.ts";
import { clients, redisTest } from "./_clients.ts";

for (const client of clients.filter(({ name }) => !name.endsWith("5"))) {
  const calls = client.name.startsWith("@db/redis") ? 500 : 3000; // it runs one command at a time
  redisTest(
    `${client.name}: a burst is granted with hardly a command more, and leases beside it are kept`,
    async (setup) => {
      let commands = 0;
      const backend = altered(setup.backend, (run) => (commands++, run()));
      const beside = await new RedisLock(backend, "beside").acquire();
      const locks = Array.from({ length: calls }, (_, i) => new RedisLock(backend, `order:${i}`));
      const acquired = Promise.all(locks.map((lock) => lock.acquire()));
      await Promise.all([
        beside.extend(),
        beside.verify(),
        new RedisLock(backend, "beside").inspect(),
        new RedisRateLimiter(backend, "rate", 1, 1000).acquire(),
      ]);
      const leases = await acquired;
      assert.ok(leases.every((lease) => lease.held), "all are held");
      const released = await Promise.all(leases.map((lease) => lease.release()));
      assert.ok(released.every((isReleased) => isReleased), "all were held to the end");
      assert.equal(beside.signal.aborted, false);
      assert.equal(await beside.release(), true);
      assert.ok(commands <= 2.2 * calls, `${commands} commands for ${calls} pairs`);
    },
    { client },
  );
}
