/** Faults of holders: replies that are late or lost, clocks that stand still, data that is evicted. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Acquirable,
  type Backend,
  type Lease,
  RedisError,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../../lib/redis/mod.ts";
import { type Harness, type Scenario, TTL } from "./_harness.ts";

const OPTIONS = { ttl: 5 * TTL };

function bodies(backend: Backend): readonly Acquirable<Lease>[] {
  return [
    new RedisLock(backend, "a", OPTIONS),
    new RedisSemaphore(backend, "a", 1, OPTIONS),
    new RedisKeyedMutex(backend, OPTIONS).at("a"),
    new RedisRwLock(backend, "a", OPTIONS).writer,
  ];
}

/** The server stops for a second while a release is in flight: the release succeeds and resolves to true. */
async function lateReleases(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  for (let round = 0; round < 3; round++) {
    for (const body of bodies(backend)) {
      const lease = await body.acquire({ timeout: 10_000 });
      harness.figures.acquisitions++;
      harness.server.pause();
      const released = lease.release();
      await sleep(1000); // how long the fault lasts; the outcome is the same for any length
      harness.server.resume();
      const outcome = await released.catch(String);
      harness.must(outcome === true, `a release with a late answer ended with ${outcome}`);
    }
  }
}

/** The reply to a release is lost, and others hold meanwhile: true or an error, never false. */
async function lostReleases(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  const others = bodies((await harness.connect()).backend);
  const outcomes = new Set<string>();
  for (let round = 0; round < 10; round++) {
    for (const [i, body] of bodies(backend).entries()) {
      const lease = await body.acquire({ timeout: 10_000 });
      harness.figures.acquisitions++;
      const next = round % 2 === 0 ? undefined : others[i]!.run(() => sleep(1), { timeout: 10_000 });
      harness.proxy.cutNext("after");
      const outcome = await lease.release().catch((error) => error);
      outcomes.add(String(outcome));
      harness.must(
        outcome === true || outcome instanceof RedisError,
        `a release without an answer ended with ${outcome}`,
      );
      await next;
    }
  }
  harness.must(outcomes.has("true"), "no second attempt of a release was ever true");
}

/** The machine is suspended: the monotonic clock stands still, the wall clock goes on, and another caller holds. */
async function suspended(harness: Harness): Promise<void> {
  const [mine, theirs] = [(await harness.connect()).backend, (await harness.connect()).backend];
  for (let round = 0; round < 3; round++) {
    const lease = await new RedisLock(mine, "a", { ttl: TTL, renew: false }).acquire({
      timeout: 10_000,
    });
    const other = new RedisLock(theirs, "a", { ttl: 30_000 });
    const { now } = performance;
    const stopped = now.call(performance);
    let next: Lease | undefined;
    performance.now = () => stopped;
    try {
      for (const end = Date.now() + 3 * TTL; next === undefined && Date.now() < end;) {
        await sleep(20);
        next = await other.tryAcquire();
        harness.must(next === undefined || !lease.held, "held, by the clock that stood still, next to another one");
      }
    } finally {
      performance.now = now;
    }
    harness.must(next !== undefined, "no other holder after the end of the lease");
    harness.must(!lease.held, "held after waking");
    harness.figures.acquisitions += 2;
    harness.must(await lease.release() === false, "a lost lease was released");
    await next?.release();
  }
}

/** Loses one reply to a renewal of leases with different ttls: no lease is lost. */
async function lostBatch(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  let lost = 0;
  const lossy: Backend = {
    ...backend,
    evalsha: async (sha, keys, args) => {
      const answer = await backend.evalsha(sha, keys, args);
      // Two states and nothing else: a renewal of both.
      const batch = keys.length === 2 && keys.every((key) => key.endsWith("}"));
      if (batch && lost++ < 3) return await new Promise(() => {});
      return answer;
    },
  };
  const short = await new RedisLock(lossy, "short", { ttl: 1500 }).acquire();
  const long = await new RedisLock(lossy, "long", { ttl: 4500 }).acquire();
  for (const end = performance.now() + 12_000; performance.now() < end && lost < 3;) {
    await sleep(1000);
    await long.extend(1500).then(() => long.extend(4500)); // due together with the short lease again
    harness.must(short.held && long.held, "a lost answer cost a lease");
  }
  await sleep(1500);
  harness.must(short.held && long.held, "a lost answer cost a lease");
  harness.figures.acquisitions += 2;
  await short.release();
  await long.release();
}

/** Memory is full and the server evicts: leases are lost, their holders notice, and tokens grow all the same. */
async function evicting(harness: Harness, policy: string): Promise<void> {
  const { backend } = await harness.connect();
  await harness.server.send("CONFIG", "SET", "maxmemory-policy", policy);
  const locks = Array.from(
    { length: 20 },
    (_, i) => new RedisLock(backend, `lock ${i}`, { ttl: TTL }),
  );
  const last = new Map<number, number>();
  for (let round = 0; round < 3; round++) {
    const leases = await Promise.all(locks.map((lock) => lock.acquire({ timeout: 20_000 })));
    for (const [i, lease] of leases.entries()) {
      harness.must(lease.fencingToken > (last.get(i) ?? 0), `a token of lock ${i} went back`);
      last.set(i, lease.fencingToken);
      void lease.signal;
    }
    harness.figures.acquisitions += leases.length;
    await harness.server.send("CONFIG", "SET", "maxmemory", "3mb");
    const filler = "x".repeat(10_000);
    for (let i = 0; i < 600; i++) {
      await harness.server.send("SET", `filler ${i}`, filler, "PX", 60_000).catch(() => {});
    }
    await sleep(2 * TTL);
    const known = await Promise.all(locks.map(async (lock) => (await lock.inspect()).holders.length));
    for (const [i, lease] of leases.entries()) {
      harness.must(known[i] === 1 || !lease.held, `lock ${i} was evicted, and is trusted after two ttls`);
    }
    await harness.server.send("CONFIG", "SET", "maxmemory", "0");
    await harness.server.send("EVAL", "for i = 0, 599 do redis.call('DEL', 'filler ' .. i) end", 0);
    await Promise.all(leases.map((lease) => lease.release()));
  }
}

export const leases: readonly Scenario[] = [
  { name: "release while the server is stopped for a second", run: lateReleases },
  { name: "answers to releases are lost, and others hold meanwhile", run: lostReleases },
  { name: "a machine is suspended: the monotonic clock stands still", fast: true, run: suspended },
  { name: "a renewal of mixed ttls loses its answer", run: lostBatch },
  ...["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"].map((policy): Scenario => ({
    name: `leases are evicted: ${policy}`,
    lossy: true,
    run: (harness) => evicting(harness, policy),
  })),
];
