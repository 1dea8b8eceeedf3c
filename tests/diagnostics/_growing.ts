/**
 * Workers that contend for one class, for each class in turn: `_growing.ts OBSERVERS COUNT [SITUATION]`. Prints how many
 * bytes an operation adds to the heap, as JSON by situation. The workers still run when the heap is measured, because
 * what their promises keep goes with them.
 */
import process from "node:process";
import { Lock, Pool, Queue } from "../../mod.ts";
import { channels, metrics, observe, trace, watchdog } from "../../lib/diagnostics/mod.ts";
import type { Call, Needs } from "../kinds/kind.ts";
import { localKinds } from "../kinds/local.ts";
import { countingMeter, openDashboard } from "../soak/_observers.ts";
import { heap } from "./_heap.ts";

const WORKERS = 3;
const WARM = 300;
/** Bytes for each operation above which it is measured again, and how often at most. */
const [SUSPICIOUS, TRIES] = [200, 12];
/** Bytes that a run-time keeps for itself meanwhile, as of compiled code, however few the operations are. */
const NOISE = 16_000;

const turn = () => new Promise<void>((resolve) => queueMicrotask(resolve));

/** Resolves once `count` operations more are done, while the workers go on. */
class Counter {
  done = 0;
  #wanted = Infinity;
  #reach = () => {};

  count(): void {
    if (++this.done >= this.#wanted) this.#reach();
  }

  reach(count: number): Promise<void> {
    this.#wanted = count;
    return new Promise((resolve) => this.#reach = resolve);
  }
}

/** One operation of a worker; several workers contend. */
type Operation = (worker: number) => Promise<unknown>;

/** The calls of every kind, each of which waits and is let go. */
function situationsOfKinds(): Record<string, Operation> {
  const all: Record<string, Operation> = {};
  for (const [name, { make, calls }] of Object.entries(localKinds)) {
    for (const [method, call] of Object.entries(calls(make(undefined, {} as Needs)))) {
      all[`${name}.${method}`] = () => visit(call);
    }
  }
  return all;
}

async function visit({ wait, block }: Call): Promise<void> {
  const unblock = await block?.();
  const waits = wait();
  await turn();
  await unblock?.();
  await waits;
}

/** What takes more than one call. */
function situations(): Record<string, Operation> {
  const hold = async (lock: Lock) => {
    const guard = await lock.acquire();
    await turn();
    guard.release();
  };
  const queue = new Queue<number>(1), pool = new Pool(2), detached = [new Lock(), new Lock()];
  const queueLock = new Lock(), late = new Lock(), full = new Lock({ maxWaiting: 0 });
  return {
    "Queue and Lock": async (worker) => {
      if (worker === 0) return await queue.put(1);
      await queue.get();
      await hold(queueLock);
    },
    "Lock, timed out": async () => {
      const guard = late.tryAcquire();
      await late.acquire({ timeout: 0 }).catch(() => {});
      await turn();
      guard?.release();
    },
    "Lock, full": async () => {
      const guard = full.tryAcquire();
      await full.acquire().catch(() => {});
      await turn();
      guard?.release();
    },
    "a run that a run has begun and left": (worker) =>
      detached[worker % 2]!.run(async () => {
        detached[(worker + 1) % 2]!.run(turn);
        await turn();
      }),
    "Pool.map": async () => {
      for await (const _ of pool.map([1, 2], turn)) break;
    },
  };
}

/** Starts are 50 ms apart. */
const rate = (name: string): number => name.includes("RateLimiter") ? 0.1 : 1;

async function growthOf(operation: Operation, share: number): Promise<number> {
  const counter = new Counter();
  let isOver = false;
  for (let worker = 0; worker < WORKERS; worker++) {
    (async () => {
      while (!isOver) {
        await operation(worker);
        counter.count();
        if (counter.done % 50 === 0) await new Promise((resolve) => setTimeout(resolve)); // streams and timers go on
      }
    })();
  }
  await counter.reach(WARM * share);
  // What is kept shows every time; what a run-time compiles or caches only now and then.
  let least = Infinity;
  for (let i = 0; i < 3 || (i < TRIES && least > SUSPICIOUS); i++) {
    const before = heap();
    const from = counter.done;
    await counter.reach(from + COUNTED * share);
    least = Math.min(least, (heap() - before - NOISE) / (counter.done - from));
  }
  isOver = true;
  return least;
}

/** What may be on, by name. */
const observers: Record<string, () => Disposable> = {
  watchdog: () => watchdog({ report() {} }),
  metrics: () => metrics(countingMeter()),
  trace: () => trace({ limit: 100 }),
  channels,
  observe: () => observe({ wait() {}, grant() {}, giveUp() {}, release() {} }),
  dashboard: openDashboard,
};
const [, , on = "", counted = "1000", only] = process.argv;
const COUNTED = Number(counted);
const kept = on.split(",").map((name) => observers[name]?.());

const found: Record<string, number> = {};
for (const [name, operation] of Object.entries({ ...situations(), ...situationsOfKinds() })) {
  if (only === undefined || only === name) found[name] = Math.round(await growthOf(operation, rate(name)));
}
console.log(JSON.stringify(found));
process.exit(kept.length > 0 ? 0 : 1);
