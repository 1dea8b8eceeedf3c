/** Many waiters: no script blocks the server for more than 10 ms, measured by the server and a second connection. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Acquirable,
  type Backend,
  type Inspection,
  type Lease,
  RedisLock,
  RedisSemaphore,
} from "../../../lib/redis/mod.ts";
import { connectNode, until } from "../_clients.ts";
import type { Harness, Scenario } from "./_harness.ts";

const DEAD = 100_000;
const HOLDERS = 10_000;
/** Milliseconds. */
const MOST = 10;

type Body = Acquirable<Lease> & { inspect(): Promise<Inspection> };

/** How long scripts took while `fn` ran, in milliseconds by the server's own clock, the longest first. */
async function slowScripts(harness: Harness, fn: () => Promise<unknown>): Promise<number[]> {
  await harness.server.send("CONFIG", "SET", "slowlog-log-slower-than", 1000, "slowlog-max-len", 1000);
  await harness.server.send("SLOWLOG", "RESET");
  let over = false;
  const measuring = (async () => {
    for (; !over; await sleep(1)) {
      const start = performance.now();
      await harness.server.send("PING");
      // This includes the scheduling of this process, so it is printed and not judged.
      harness.figures.longestWait = Math.max(harness.figures.longestWait, performance.now() - start);
    }
  })();
  try {
    await fn();
  } finally {
    over = true;
    await measuring;
  }
  const entries = await harness.server.send("SLOWLOG", "GET", 1000) as [number, number, number, string[]][];
  return entries.filter(([, , , [name]]) => /^eval/i.test(name ?? "")).map(([, , took]) => took / 1000).sort((a, b) =>
    b - a
  );
}

/**
 * Judges the scripts of `fn`. On a machine with other work to do the server itself is interrupted now and then: two
 * scripts of a phase may be longer, but not by much, and a short phase has three rounds.
 */
async function bounded(harness: Harness, what: string, fn: () => Promise<unknown>, rounds = 1): Promise<void> {
  let slow: number[] = [];
  for (let round = 0; round < rounds; round++) {
    slow = await slowScripts(harness, fn);
    if ((slow[0] ?? 0) <= MOST) return;
  }
  const [longest = 0, , third = 0] = slow;
  const fine = rounds === 1 && longest <= 5 * MOST && third <= MOST;
  harness.must(fine, `${what}: scripts took ${slow.slice(0, 5)} ms`);
}

async function deadWaiters(harness: Harness, make: (backend: Backend) => Body): Promise<void> {
  const ours = make((await harness.connect()).backend);
  const dying = await connectNode(harness.server.url);
  const theirs = make(dying.backend);
  const holder = await ours.acquire();
  const calls: Promise<unknown>[] = [theirs.acquire().catch(() => {})];
  const key = async () => (await harness.server.send("KEYS", "interlock:*:queue") as string[])[0] ?? "none";
  try {
    await until(async () => await key() !== "none");
    while (calls.length < DEAD) {
      for (let i = 0; i < 5000; i++) calls.push(theirs.acquire().catch(() => {}));
      await until(async () => Number(await harness.server.send("ZCARD", await key())) >= calls.length, 60_000);
    }
  } finally {
    await dying.close();
  }
  await Promise.all(calls);
  await bounded(harness, "inspect", () => ours.inspect(), 3);
  const living = ours.acquire({ timeout: 3 * OPTIONS.ttl }); // a waiter on heartbeats is dead after its ttl
  const start = performance.now();
  await bounded(harness, "release", async () => {
    await holder.release();
    await (await living).release();
  });
  harness.recovery = performance.now() - start;
  harness.figures.acquisitions += 2;
  await bounded(harness, "acquire", async () => void await (await ours.acquire({ timeout: 20_000 })).release(), 3);
  await harness.server.send("FLUSHALL");
}

async function manyHolders(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  const semaphore = new RedisSemaphore(backend, "a", HOLDERS, { ttl: 9000 }); // a busy machine takes seconds
  let leases: Lease[] = [];
  await bounded(harness, "acquire", async () => {
    leases = await Promise.all(Array.from({ length: HOLDERS }, () => semaphore.acquire({ timeout: 60_000 })));
  });
  harness.figures.acquisitions += leases.length;
  await bounded(harness, "inspect", () => semaphore.inspect(), 3);
  await bounded(harness, "renewals", async () => {
    const ends = leases.map(({ expiresAt }) => expiresAt);
    await until(() => leases.every(({ expiresAt }, i) => expiresAt > ends[i]!));
  }, 3);
  const waiting = Array.from({ length: 100 }, () => semaphore.run(() => {}, { timeout: 60_000 }));
  await bounded(harness, "hand-off", async () => {
    await Promise.all(leases.slice(0, 1000).map((lease) => lease.release()));
    await Promise.all(waiting);
  });
  const crashed = await connectNode(harness.server.url);
  const last = new RedisSemaphore(crashed.backend, "a", HOLDERS, { ttl: 1000 });
  await Promise.all(Array.from({ length: 1000 }, () => last.acquire({ timeout: 60_000 })));
  await crashed.close();
  const end = await serverTime(harness) + 1000;
  await until(async () => await serverTime(harness) > end); // none was renewed since
  await bounded(harness, "a thousand leases that ended", () => semaphore.run(() => {}, { timeout: 60_000 }), 1);
  await Promise.all(leases.slice(1000).map((lease) => lease.release()));
}

/** In milliseconds. */
async function serverTime({ server }: Harness): Promise<number> {
  const [seconds, microseconds] = await server.send("TIME") as [string, string];
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}

const OPTIONS = { ttl: 60_000 };

export const manyWaiters: readonly Scenario[] = [
  {
    name: "100,000 dead waiters: lock",
    run: (harness) => deadWaiters(harness, (backend) => new RedisLock(backend, "a", OPTIONS)),
  },
  {
    name: "100,000 dead waiters: semaphore",
    run: (harness) => deadWaiters(harness, (backend) => new RedisSemaphore(backend, "a", 1, OPTIONS)),
  },
  { name: "10,000 holders of a semaphore", run: manyHolders },
];
