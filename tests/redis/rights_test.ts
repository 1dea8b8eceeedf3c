/** The least rights of docs/redis.md: everything runs with them, and a missing one is named. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  type Backend,
  type Lease,
  RedisError,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { PASSWORD } from "../_secrets.ts";
import { bodies, type Body } from "./_bodies.ts";
import { connectNode, ending, redisTest, type Setup, until } from "./_clients.ts";
import { Warnings } from "./_warnings.ts";

/** The line of the docs. */
const text = readFileSync(new URL("../../docs/redis.md", import.meta.url), "utf8");
const line = /ACL SETUSER app ([^`]*)```/.exec(text)![1]!.replaceAll("\\\n", " ").replaceAll("'", "");
const rights = line.trim().replace(">secret", `>${PASSWORD}`).split(/\s+/);

/** Beyond them: node-redis says who it is, and a test's connection is closed. */
const OF_THE_CLIENT = ["+hello", "+client"];

async function connectAs(
  server: Setup["server"],
  list: readonly string[],
): Promise<AsyncDisposable & { readonly backend: Backend }> {
  await server.send("ACL", "SETUSER", "app", "reset", ...list, ...OF_THE_CLIENT);
  const { backend, close } = await connectNode(server.urlAs("app"));
  return { backend, ...ending(close) };
}

/** One hold, and one that is handed off. */
async function handOff({ held: body, inspect }: Body): Promise<void> {
  const first = await body.acquire();
  const second = body.acquire();
  await until(async () => (await inspect()).waiting === 1);
  await first.extend(5000);
  assert.equal(await first.verify(), true);
  assert.equal(await first.release(), true);
  const lease = await second;
  assert.equal(await body.tryAcquire(), undefined);
  await lease.release();
}

async function everything(backend: Backend): Promise<void> {
  const options = { ttl: 3000, owner: "app" };
  const lock = new RedisLock(backend, "a", options);
  const semaphore = new RedisSemaphore(backend, "a", 1, options);
  const rw = new RedisRwLock(backend, "a", options);
  const { reader: _, ...exclusive } = bodies;
  for (const make of Object.values(exclusive)) await handOff(make(backend, options));
  const controller = new AbortController();
  const leases: Lease[] = [];
  for (const body of [lock, semaphore, rw.reader]) {
    const held = await body.acquire();
    const gone = body === rw.reader ? rw.writer.acquire({ signal: controller.signal }) : body.acquire({ timeout: 50 });
    setTimeout(() => controller.abort(), 50);
    await assert.rejects(gone);
    const adopted = await body.adopt(held.id);
    assert.equal(adopted!.fencingToken, held.fencingToken);
    const { expiresAt } = adopted!;
    await until(() => adopted!.expiresAt > expiresAt || !adopted!.held); // renewed
    assert.equal(adopted!.held, true);
    leases.push(held, adopted!);
  }
  for (const body of [lock, semaphore, rw]) assert.equal(await body.forceRelease(), true);
  for (const lease of leases) await lease.release(); // which would else be renewed once more
  const limiter = new RedisRateLimiter(backend, "a", 2, 50);
  await Promise.all([1, 2, 3, 4].map(() => limiter.acquire()));
  await assert.rejects(
    new RedisRateLimiter(backend, "b", 1, 500).run(() => limiter.acquire({ signal: AbortSignal.abort() })),
  );
  assert.equal(await limiter.retryAfter() >= 0, true);
  await limiter.acquire({ permits: 2 });
  await limiter.acquire({ permits: 2, timeout: 60_000 });
}

redisTest("with exactly the rights of docs/redis.md everything runs, without a warning", async ({ server }) => {
  using warnings = new Warnings();
  await using app = await connectAs(server, rights);
  await everything(app.backend);
  // Of leases that were adopted or revoked.
  assert.deepEqual(warnings.seen.filter((text) => !text.startsWith("INTERLOCK_LEASE_LOST")), []);
});

for (const [missing, words] of [["+set", "SET"], ["+hset", "HSET"], ["+evalsha", "evalsha"], ["+rpush", "RPUSH"]]) {
  redisTest(`without the right ${missing}, the error names it`, async ({ server }) => {
    await using app = await connectAs(server, rights.filter((right) => right !== missing));
    const { backend } = app;
    if (missing === "+evalsha") await new RedisLock(backend, "b").acquire(); // a script's first command is an EVAL
    const call = missing === "+rpush"
      ? new RedisRateLimiter(backend, "a", 1, 1000).acquire()
      : missing === "+hset"
      ? new RedisSemaphore(backend, "a", 1).acquire()
      : new RedisLock(backend, "a").acquire();
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof RedisError);
      assert.match(error.message, new RegExp(`^Cannot acquire .*this Redis user may not.*\\b${words}\\b`));
      return true;
    });
  });
}

for (const missing of ["zadd", "hset", "pexpire"]) {
  redisTest(`a grant refused for want of +${missing} blocks no other`, async ({ server, backend }) => {
    await using app = await connectAs(server, rights.filter((right) => right !== `+${missing}`));
    const options = { ttl: 1500 };
    const refused = new RedisSemaphore(app.backend, "a", 1, options).acquire({ timeout: 30_000 });
    await assert.rejects(refused, RegExp(missing, "i"));
    const lease = await new RedisSemaphore(backend, "a", 1, options).acquire({ timeout: 30_000 });
    await lease.release();
  });
}
