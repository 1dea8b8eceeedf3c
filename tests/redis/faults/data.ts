/** Faults of the data. If it is lost while there is a holder, only fencing keeps the writes in order. */
import { setTimeout as sleep } from "node:timers/promises";
import { RedisLock } from "../../../lib/redis/mod.ts";
import { type Harness, type Scenario, through, TTL } from "./_harness.ts";

/** Loses data while there are a holder and waiters, many times. */
function losing(lose: (harness: Harness) => Promise<unknown>): Scenario["run"] {
  return through(async (harness) => {
    for (let i = 0; i < 15; i++) {
      await harness.entries(2);
      await sleep(harness.random.below(30));
      await lose(harness);
    }
  }, { hold: 30 });
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
    await harness.server.send("CONFIG", "SET", "maxmemory", "0"); // no lease is evicted just before the check
    await sleep(2 * TTL);
    const known = await Promise.all(locks.map(async (lock) => (await lock.inspect()).holders.length));
    for (const [i, lease] of leases.entries()) {
      harness.must(known[i] === 1 || !lease.held, `lock ${i} was evicted, and is trusted after two ttls`);
    }
    await harness.server.send("EVAL", "for i = 0, 599 do redis.call('DEL', 'filler ' .. i) end", 0);
    await Promise.all(leases.map((lease) => lease.release()));
  }
}

export const data: readonly Scenario[] = [
  {
    name: "FLUSHALL while held and while queued",
    lossy: true,
    fast: true,
    run: losing(({ server }) => server.send("FLUSHALL")),
  },
  {
    name: "single keys evicted",
    lossy: true,
    run: losing(async ({ server, random }) => {
      const keys = await server.send("KEYS", "interlock:*") as string[];
      if (keys.length > 0) await server.send("DEL", random.pick(keys));
    }),
  },
  {
    name: "out of memory, without eviction",
    run: through(async (harness) => {
      await harness.server.send("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await harness.server.send("CONFIG", "SET", "maxmemory", "1");
      await sleep(2 * TTL); // holders go on and release; no new call is granted
      await harness.server.send("CONFIG", "SET", "maxmemory", "0");
    }, { hold: 40 }),
  },
  {
    name: "10,000 keys come and go",
    run: async (harness) => {
      await harness.workers(4, "keyed", { hold: 0, keys: 10_000 });
      await harness.entries(10_000, 60_000);
    },
  },
  ...["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"].map((policy): Scenario => ({
    name: `leases are evicted: ${policy}`,
    lossy: true,
    run: (harness) => evicting(harness, policy),
  })),
];
