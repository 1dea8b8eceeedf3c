/** A process that the system stops for 12 s: it loses the lease whose time has passed, and nothing else. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { RedisLock } from "../../lib/redis/mod.ts";
import { self } from "../shutdown/runtimes.ts";
import { redisTest, until } from "../redis/_clients.ts";
import { said, signal, start } from "../shutdown/round.ts";

redisTest(
  "a process that was stopped for 12 s has lost what had to be lost, and only that",
  async ({ server, backend }) => {
    const held = await new RedisLock(backend, "waiting", { ttl: 60_000 }).acquire();
    const child = await start(self, "tests/long/_stopped_process.ts", [server.url]);
    await said(child, /ready/);
    await until(async () => (await new RedisLock(backend, "waiting").inspect()).waiters.length === 1);
    signal(child, "SIGSTOP");
    const stopped = sleep(12_000);
    const next = await new RedisLock(backend, "short").acquire({ timeout: 12_000 });
    for (const name of ["long", "unrenewed"]) {
      assert.equal(await new RedisLock(backend, name).tryAcquire(), undefined, `${name} is kept`);
    }
    await stopped;
    child.child.stdin.write("\n");
    signal(child, "SIGCONT");
    assert.equal(await said(child, /lost: (.*)\./), "short");
    assert.equal(await held.release(), true);
    await said(child, /granted/);
    child.child.stdin.end();
    assert.equal(await said(child, /released: (.*)\./), "long,unrenewed,waiting");
    assert.equal((await child.ended).code, 0, child.output.text);
    assert.equal(next.held, true);
    assert.equal(await next.release(), true);
  },
);
