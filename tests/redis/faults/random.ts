/**
 * Random faults against real processes. Each round has a server, a proxy and workers of its own, and a seed that repeats
 * its choices. The histories are judged by wall-clock holds and by tokens at the resource; a probe whose connection
 * never fails judges the order of grants.
 */
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { RedisLock } from "../../../lib/redis/mod.ts";
import { connectNode } from "../_clients.ts";
import { type Harness, type Scenario, signal, TTL } from "./_harness.ts";
import { PERMITS } from "./_permits.ts";
import type { Kind } from "./_worker.ts";

/** Milliseconds of one round, without its start and its checks. */
const ROUND = 15_000;

interface Fault {
  readonly name: string;
  /** It also cuts the probe, whose waiters may then be skipped. */
  readonly everywhere?: boolean;
  run(harness: Harness, workers: ChildProcess[]): Promise<unknown>;
}

/** The commands by which the server begins and ends to refuse what it is sent. */
const refusals: Readonly<Record<string, readonly [begin: string, end: string]>> = {
  "a replica, which refuses to write": ["REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"],
  "scripts forbidden": ["ACL SETUSER default -evalsha -eval", "ACL SETUSER default +evalsha +eval"],
  "out of memory": ["CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"],
};

/** None of these loses data, or stops a holder for as long as its lease, so there must never be two holders. */
const faults: readonly Fault[] = [
  { name: "cut all", run: ({ proxy }) => Promise.resolve(proxy.cut("all")) },
  { name: "cut commands", run: ({ proxy }) => Promise.resolve(proxy.cut("commands")) },
  { name: "cut subscribers", run: ({ proxy }) => Promise.resolve(proxy.cut("subscribers")) },
  ...(["both", "requests", "replies"] as const).map((direction): Fault => ({
    name: `half-open: ${direction}`,
    run: async ({ proxy, random }) => {
      proxy.freeze("all", direction);
      await sleep(random.below(2 * TTL));
      proxy.thaw();
      proxy.cut("all"); // the clients' keep-alive would detect it much later
    },
  })),
  ...Object.entries(refusals).map(([name, [begin, end]]): Fault => ({
    name,
    everywhere: true,
    run: async ({ server, random }) => {
      await server.send(...begin.split(" "));
      await sleep(random.below(2 * TTL));
      await server.send(...end.split(" "));
    },
  })),
  { name: "lose a request", run: ({ proxy }) => Promise.resolve(proxy.cutNext("before")) },
  { name: "lose an answer", run: ({ proxy }) => Promise.resolve(proxy.cutNext("after")) },
  { name: "flush scripts", run: ({ server }) => server.send("SCRIPT", "FLUSH") },
  { name: "kill subscribers", everywhere: true, run: ({ server }) => server.send("CLIENT", "KILL", "TYPE", "pubsub") },
  {
    name: "kill clients",
    everywhere: true,
    run: ({ server }) => server.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"),
  },
  {
    name: "latency",
    run: async ({ proxy, random }) => {
      Object.assign(proxy, { latency: random.below(50), jitter: random.below(50) });
      await sleep(random.below(1000));
      Object.assign(proxy, { latency: 0, jitter: 0 });
    },
  },
  {
    name: "stop the server",
    run: async ({ server, random }) => {
      server.pause();
      await sleep(random.below(2 * TTL));
      server.resume();
    },
  },
  {
    name: "freeze subscribers",
    run: async ({ proxy, random }) => {
      proxy.freeze("subscribers");
      await sleep(random.below(2 * TTL));
      proxy.thaw();
      proxy.cut("subscribers");
    },
  },
  {
    name: "stop a worker for a moment",
    run: async ({ random }, workers) => {
      const worker = random.pick(workers);
      signal(worker, "SIGSTOP");
      await sleep(random.below(TTL / 4));
      signal(worker, "SIGCONT");
    },
  },
];

const kinds: readonly (readonly Kind[])[] = [["lock"], ["keyed"], ["semaphore"], ["reader", "writer"], [
  "adopted",
  "lock",
], ["starter"]];

/** How many kinds of rounds there are. */
export const KINDS: number = kinds.length;

/** Callers on a connection that never fails arrive one after the other, and are granted in this order. */
async function probe(harness: Harness, over: () => boolean): Promise<void> {
  const { backend, close } = await connectNode(harness.server.url);
  // Alive through every fault of the round.
  const lock = new RedisLock(backend, "shared", { ttl: 30_000 });
  const order: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (let arrival = 0; !over(); arrival++) {
    const call = lock.acquire({ timeout: 60_000 }).then(
      async (lease) => {
        order.push(arrival);
        await sleep(harness.random.below(5));
        await lease.release();
      },
      (error) => harness.must(false, `the probe failed: ${error}`),
    );
    calls.push(call);
    await sleep(20 + harness.random.below(100));
  }
  await Promise.all(calls);
  await close();
  const passed = order.findIndex((arrival, i) => arrival !== i);
  harness.must(
    passed === -1,
    `the probe's call ${passed} was not granted in turn: ${order.slice(Math.max(0, passed - 2), passed + 3)}`,
  );
}

async function round(harness: Harness, all: readonly Kind[]): Promise<void> {
  const { random } = harness;
  const workers: ChildProcess[] = [];
  const start = async (kind: Kind) => {
    const orders = {
      ttl: random.pick([TTL, 2 * TTL]),
      hold: random.below(40),
      timeout: 4000 + random.below(8000),
      skew: random.pick([0, 3_600_000, -3_600_000]),
    };
    workers.push(...await harness.workers(1, kind, orders));
  };
  for (let i = 0; i < 4; i++) await start(all[i % all.length]!);
  let over = false;
  const possible = faults.filter(({ everywhere }) => all[0] !== "lock" || !everywhere);
  const probing = all[0] === "lock" ? probe(harness, () => over) : undefined;
  const log: string[] = [];
  for (const end = performance.now() + ROUND; performance.now() < end; await sleep(random.below(600))) {
    if (random.below(12) === 0) {
      const [victim] = workers.splice(random.below(workers.length), 1);
      log.push("kill a worker");
      signal(victim!, "SIGKILL");
      await start(random.pick(all));
      continue;
    }
    const fault = random.pick(possible);
    log.push(fault.name);
    await fault.run(harness, workers);
  }
  over = true;
  await harness.recover();
  await probing;
  if (harness.violations.length > 0) harness.violations.push(`after: ${log.join(", ")}`);
}

/** The scenario of one round. */
export function randomRound(index: number): Scenario {
  const all = kinds[index % kinds.length]!;
  return {
    name: `random faults: ${all.join(" and ")}`,
    expiring: true, // the server may be stopped for longer than a ttl
    room: all[0] === "semaphore" || all[0] === "reader" ? PERMITS : 1,
    run: (harness) => round(harness, all),
  };
}
