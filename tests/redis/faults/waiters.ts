/** Waiters and holders that end silently, and settings that differ between the callers of one name. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Acquirable,
  type Backend,
  type Lease,
  type RedisOptions,
  RedisRwLock,
  RedisSemaphore,
} from "../../../lib/redis/mod.ts";
import { bodies, type MakeBody } from "../_bodies.ts";
import { connectNode, subscribed, until } from "../_clients.ts";
import { FaultProxy } from "./_proxy.ts";
import type { Harness, Scenario } from "./_harness.ts";
import { History } from "./_history.ts";

/** A holder that stays, a waiter behind it that does not fit, and waiters that fit as soon as that waiter is gone. */
interface Crowd {
  readonly holder: Acquirable<Lease>;
  readonly large: Acquirable<Lease>;
  readonly small: Acquirable<Lease>;
}

function asking(semaphore: RedisSemaphore, permits: number): Acquirable<Lease> {
  return {
    acquire: (options) => semaphore.acquire({ ...options, permits }),
    tryAcquire: () => semaphore.tryAcquire(permits),
    run: (fn, options) => semaphore.run(fn, { ...options, permits }),
  };
}

const crowds: Readonly<Record<string, (backend: Backend, options: RedisOptions) => Crowd>> = {
  "read-write lock": (backend, options) => {
    const { reader, writer } = new RedisRwLock(backend, "a", options);
    return { holder: reader, large: writer, small: reader };
  },
  semaphore: (backend, options) => {
    const semaphore = new RedisSemaphore(backend, "a", 4, options);
    return { holder: asking(semaphore, 1), large: asking(semaphore, 4), small: asking(semaphore, 1) };
  },
};

const { reader: _, ...exclusive } = bodies;

async function queued(harness: Harness, count: number): Promise<void> {
  await until(async () => {
    const [key] = await harness.server.send("KEYS", "interlock:*:queue") as string[];
    return (key === undefined ? 0 : Number(await harness.server.send("ZCARD", key))) >= count;
  });
}

/** How a process ends: its connections are closed, or they stay open and it sends nothing more. */
type Death = "killed" | "stopped";

/** A client that can be killed or stopped. */
async function victim(
  harness: Harness,
): Promise<{ backend: Backend; die: (how: Death) => Promise<void>; end: () => Promise<void> }> {
  const proxy = await FaultProxy.start(harness.server.port);
  const client = await connectNode(proxy.url);
  return {
    backend: client.backend,
    die: async (how) => how === "killed" ? await client.close() : proxy.freeze("all"),
    end: async () => {
      await client.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Milliseconds beyond the rest of a lease, or a dead waiter's ttl. */
const SLACK = 250 + 150; // and a margin for the machine

async function deadWaiter(
  harness: Harness,
  make: (backend: Backend, options: RedisOptions) => Crowd,
  how: Death,
): Promise<void> {
  const ttl = 2000;
  const living = (await harness.connect()).backend;
  const ours = make(living, { ttl: 30_000 });
  for (const place of [0, 1, 2]) {
    const dying = await victim(harness);
    const theirs = make(dying.backend, { ttl });
    const holder = await ours.holder.acquire({ timeout: 10_000 });
    // At each position of the queue: alone, behind a live waiter that does not fit, and between two of them.
    const before = place === 0 ? undefined : ours.large.acquire({ timeout: 30_000 });
    if (before) await queued(harness, 1);
    const dead = theirs.large.acquire({ timeout: 30_000 });
    dead.catch(() => {});
    await queued(harness, place === 0 ? 1 : 2);
    const between = place === 2 ? ours.small.acquire({ timeout: 30_000 }) : undefined;
    if (between) await queued(harness, 3);
    const after = ours.small.acquire({ timeout: 30_000 });
    await queued(harness, place + 2);
    await subscribed(harness.server, 2);
    await dying.die(how);
    let start = performance.now();
    if (before) {
      await holder.release();
      const lease = await before;
      start = performance.now();
      await lease.release();
    }
    if (between) await (await between).release();
    const lease = await after;
    const waited = performance.now() - start;
    harness.figures.acquisitions++;
    harness.recovery = Math.max(harness.recovery ?? 0, waited);
    harness.must(
      waited <= ttl + SLACK,
      `place ${place}: waited ${Math.round(waited)} ms behind a waiter with a ttl of ${ttl} ms`,
    );
    await lease.release();
    await holder.release();
    await dying.end();
  }
}

/** A holder crashes `before` milliseconds before the end of its lease; a waiter has been there since `arrives`. */
async function crashedHolder(
  harness: Harness,
  name: string,
  make: MakeBody,
  [holds, waits, arrives]: readonly [number, number, number],
): Promise<void> {
  const prefix = `interlock:${name}:${holds}:${waits}:${arrives}:`;
  const crashing = await connectNode(harness.server.url);
  const client = await connectNode(harness.server.url);
  const holder = make(crashing.backend, { ttl: holds, prefix, renew: false }).held;
  const waiter = make(client.backend, { ttl: waits, prefix }).held;
  const start = performance.now();
  await holder.acquire();
  await crashing.close();
  await sleep(arrives);
  const lease = await waiter.acquire({ timeout: 60_000 });
  const late = performance.now() - start - Math.max(holds, arrives);
  harness.figures.acquisitions++;
  harness.recovery = Math.max(harness.recovery ?? 0, late);
  const ms = Math.round(late);
  harness.must(
    late <= SLACK || (holds - arrives < 1000 && late <= 1000),
    `${name} ${holds}/${waits} ms, arrived after ${arrives}: ${ms} ms late`,
  );
  await lease.release();
  await client.close();
}

/** A caller with other settings comes and goes; the queue, and the positions in it, live on. */
async function mixedSettings(
  harness: Harness,
  make: MakeBody,
): Promise<void> {
  const clients = await Promise.all([1, 2, 3, 4].map(() => harness.connect()));
  const long = make(clients[0]!.backend, { ttl: 60_000 }).held;
  const second = make(clients[1]!.backend, { ttl: 60_000 }).held;
  const short = make(clients[2]!.backend, { ttl: 1000 }).held;
  const newcomer = make(clients[3]!.backend, { ttl: 30_000 }).held;
  const history = new History(harness);
  const holder = await history.enter("holder", long);
  const waiting = [history.visit("long", second)];
  await queued(harness, 1);
  waiting.push(history.visit("short", short));
  await queued(harness, 2);
  // The short-lived waiter sends a heartbeat every second; its ttl must not end the life of the queue.
  for (const end = performance.now() + 5000; performance.now() < end; await sleep(100)) {
    for (const key of await harness.server.send("KEYS", "interlock:*") as string[]) {
      const rest = Number(await harness.server.send("PTTL", key));
      harness.must(rest > 30_000 || rest < 0, `${key} lives for ${rest} ms only`);
      if (harness.violations.length > 0) break;
    }
  }
  waiting.push(history.visit("newcomer", newcomer));
  await queued(harness, 3);
  await history.leave("holder", holder);
  await Promise.all(waiting);
  harness.must(history.order.join() === "holder,long,short,newcomer", `served in the order ${history.order}`);
  await harness.server.send("FLUSHALL");
}

const PAIRS = [[800, 30_000, 0], [5000, 60_000, 0], [5000, 60_000, 4500], [9000, 9000, 6500], [
  30_000,
  30_000,
  21_500,
]] as const;

export const waiting: readonly Scenario[] = [
  ...Object.entries(crowds).flatMap(([name, make]) =>
    (["killed", "stopped"] as const).map((how): Scenario => ({
      name: `a waiter that does not fit is ${how}: ${name}`,
      run: (harness) => deadWaiter(harness, make, how),
    }))
  ),
  {
    name: "a holder crashes, whatever the ttl of the waiters",
    run: async (harness) => {
      await Promise.all(
        Object.entries(exclusive).flatMap(([name, make]) =>
          PAIRS.map((pair) => crashedHolder(harness, name, make, pair))
        ),
      );
      await harness.server.send("FLUSHALL");
    },
  },
  ...Object.entries(exclusive).map(([name, make]): Scenario => ({
    name: `callers with other settings: ${name}`,
    run: (harness) => mixedSettings(harness, make),
  })),
];
