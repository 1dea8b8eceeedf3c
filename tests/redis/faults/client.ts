/** Faults of processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { RedisLock } from "../../../lib/redis/mod.ts";
import { until } from "../_clients.ts";
import { type Harness, type Scenario, signal, TTL } from "./_harness.ts";
import { PERMITS } from "./_permits.ts";

/** Stops one of several workers for longer than a lease, at random moments. */
async function pausing(harness: Harness, hold: number): Promise<void> {
  const [first, ...others] = await harness.workers(4, "lock", { hold });
  for (const child of [first!, others[0]!, first!]) {
    await harness.entries(4 + harness.random.below(4));
    signal(child, "SIGSTOP");
    await sleep(1.6 * TTL);
    signal(child, "SIGCONT");
  }
  await harness.recover();
}

/** Kills processes one after the other, while the others go on. */
async function killing(harness: Harness, hold: number): Promise<void> {
  const victims = await harness.workers(3, "lock", { hold });
  await harness.workers(2, "lock", { hold });
  for (const victim of victims) {
    await harness.entries(4);
    signal(victim, "SIGKILL");
  }
  await harness.recover();
}

/** Kills a process with fifty waiters; the waiters before and behind them are granted in order, soon. */
async function fiftyKilled(harness: Harness): Promise<void> {
  const { backend } = await harness.connect();
  const lock = new RedisLock(backend, "many", { ttl: TTL });
  const holder = await lock.acquire();
  const order: string[] = [];
  const waiting = async (count: number) => await until(async () => (await lock.inspect()).waiters.length >= count);
  const join = (name: string) =>
    lock.acquire({ timeout: 15_000 }).then(async (lease) => {
      order.push(name);
      harness.figures.acquisitions++;
      await lease.release();
    });
  const living = [join("first")];
  await waiting(1);
  const dying = await harness.connect();
  const theirs = new RedisLock(dying.backend, "many", { ttl: TTL });
  const lost = Array.from({ length: 50 }, () => theirs.acquire({ timeout: 15_000 }).catch(() => {}));
  await waiting(51);
  for (const name of ["second", "third"]) {
    living.push(join(name));
    await waiting(51 + living.length - 1);
  }
  await dying.close(); // without a command to Redis, as a crash does
  const start = performance.now();
  await holder.release();
  await Promise.all(living);
  await Promise.all(lost);
  harness.recovery = performance.now() - start;
  harness.must(order.join() === "first,second,third", `served in the order ${order}`);
  harness.must(harness.recovery < 4 * TTL, `the living waited ${harness.recovery} ms`);
}

export const client: readonly Scenario[] = [
  {
    name: "a process stopped past its lease, as holder or as granted waiter",
    lossy: true,
    run: (harness) => pausing(harness, 60),
  },
  {
    name: "an event loop blocked past the lease",
    lossy: true,
    run: async (harness) => {
      await harness.workers(2, "lock", { block: 1.6 * TTL, hold: 20 });
      await harness.workers(2, "lock", { hold: 20 });
      await harness.recover(20);
    },
  },
  { name: "holders killed", run: (harness) => killing(harness, 80) },
  { name: "waiters killed", run: (harness) => killing(harness, 5) },
  { name: "fifty waiters gone at once: order among the living", run: fiftyKilled },
  {
    name: "wall clocks an hour ahead and behind",
    run: async (harness) => {
      await harness.workers(2, "lock", { skew: 3_600_000 });
      await harness.workers(2, "lock", { skew: -3_600_000 });
      await harness.entries(40);
    },
  },
  {
    name: "holds handed over: processes killed, connections cut, answers lost",
    run: async (harness) => {
      const victims = await harness.workers(3, "adopted", { hold: 20 });
      await harness.workers(2, "lock", { hold: 5 });
      for (const victim of victims) {
        await harness.entries(5);
        harness.proxy.cutNext("after");
        await harness.entries(5);
        harness.proxy.cut("all");
        signal(victim, "SIGKILL");
      }
      await harness.recover();
    },
  },
  {
    name: "semaphore: holders killed, connections cut",
    room: PERMITS,
    run: async (harness) => {
      const [victim] = await harness.workers(5, "semaphore", { hold: 20 });
      await harness.entries(20);
      signal(victim!, "SIGKILL");
      await harness.entries(10);
      harness.proxy.cut("all");
      await harness.recover(10);
    },
  },
  {
    name: "readers and writers: connections cut, a writer killed",
    room: PERMITS,
    run: async (harness) => {
      await harness.workers(3, "reader", { hold: 10 });
      const [victim] = await harness.workers(2, "writer", { hold: 10 });
      await harness.entries(20);
      harness.proxy.cut("all");
      await harness.entries(10);
      signal(victim!, "SIGKILL");
      await harness.recover(10);
    },
  },
  {
    name: "keyed: connections cut, a process killed",
    run: async (harness) => {
      const [victim] = await harness.workers(4, "keyed", { hold: 5, keys: 3 });
      await harness.entries(20);
      harness.proxy.cut("all");
      await harness.entries(10);
      signal(victim!, "SIGKILL");
      await harness.recover(10);
    },
  },
];
