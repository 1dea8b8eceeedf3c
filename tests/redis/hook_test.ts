/** The hook reports of the Redis classes: a grant and a release for each hold, with one object for the call. */
import assert from "node:assert/strict";
import { type Hook, setHook } from "../../lib/internal/hook.ts";
import {
  type Acquirable,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { redisTest, until } from "./_clients.ts";

redisTest(
  "each hold over Redis is reported from its wait to its end, also when it is lost",
  async ({ server, backend }) => {
    const reports: string[] = [];
    const calls = new Map<object, number>();
    const note = (what: string, kind: string, call: object) => {
      if (!calls.has(call)) calls.set(call, calls.size);
      reports.push(`${what} ${kind} ${calls.get(call)}`);
    };
    const hook: Hook = {
      step: (fn) => fn(),
      begin: () => {},
      wait: ({ kind }, call) => note("wait", kind, call),
      grant: ({ kind }, call) => note("grant", kind, call),
      giveUp: ({ kind }, call) => note("giveUp", kind, call),
      release: ({ kind }, call) => note("release", kind, call),
      giveBack: () => {},
      failRenewal: () => {},
      releaseWithoutGuard: () => {},
      run: (call, fn) => {
        note("run", "", call);
        return fn();
      },
      deadlockOf: () => undefined,
      holderOf: () => "",
    };
    const rw = new RedisRwLock(backend, "a", { ttl: 5000 });
    const bodies: Record<string, Acquirable<Lease>> = {
      "redis-lock": new RedisLock(backend, "a", { ttl: 5000 }),
      "redis-semaphore": new RedisSemaphore(backend, "a", 1, { ttl: 5000 }),
      "redis-key": new RedisKeyedMutex(backend, { ttl: 5000 }).at("a"),
      "redis-reader": rw.reader,
      "redis-writer": rw.writer,
    };
    for (const [kind, body] of Object.entries(bodies)) {
      setHook(hook);
      try {
        reports.length = 0;
        calls.clear();
        const lease = await body.acquire();
        if (kind !== "redis-reader") {
          const waiting = body.acquire();
          await until(() => reports.includes(`wait ${kind} 1`));
          await lease.release();
          await (await waiting).release();
          const seen = reports.filter((report) => report !== `wait ${kind} 0`); // of a server that took 100 ms
          assert.deepEqual(seen.slice(0, 3), [`grant ${kind} 0`, `wait ${kind} 1`, `release ${kind} 0`]);
          assert.deepEqual(seen.slice(3), [`grant ${kind} 1`, `release ${kind} 1`]);
        } else await lease.release();
        reports.length = 0;
        calls.clear();
        await body.run(() => {});
        const free = () => reports.filter((report) => !report.startsWith("wait"));
        assert.deepEqual(free(), [`grant ${kind} 0`, "run  0", `release ${kind} 0`]);
        const lost = await body.acquire();
        await server.send("FLUSHALL");
        assert.equal(await lost.verify(), false);
        assert.deepEqual(free().slice(3), [`grant ${kind} 1`, `release ${kind} 1`]);
        assert.equal(await lost.release(), false);
        assert.equal(free().length, 5);
      } finally {
        setHook(undefined);
      }
    }
  },
);
