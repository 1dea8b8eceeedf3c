/**
 * Workers that contend for one class, for each class in turn: `_growing.ts OBSERVERS COUNT [SITUATION]`. Prints how many
 * bytes an operation adds to the heap, as JSON by situation. The workers still run when the heap is measured, because
 * what their promises keep goes with them.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  acquireAll,
  Barrier,
  Condition,
  Event,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  SingleFlight,
  TaskGroup,
} from "../../mod.ts";
import { channels, metrics, observe, trace, watchdog } from "../../lib/diagnostics/mod.ts";
import { dashboard } from "../../lib/dashboard/mod.ts";

const WORKERS = 3;
const WARM = 300;

const turn = () => new Promise<void>((resolve) => queueMicrotask(resolve));
const instrument = { add() {}, record() {} };
const meter = {
  createHistogram: () => instrument,
  createUpDownCounter: () => instrument,
  createCounter: () => instrument,
};

function collector(): () => void {
  const { Bun } = globalThis as { Bun?: { gc(sync: boolean): void } };
  if (Bun) return () => Bun.gc(true);
  setFlagsFromString("--expose-gc");
  return (globalThis as { gc?: () => void }).gc ?? runInNewContext("gc");
}
const collect = collector();

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

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

function situations(): Record<string, Operation> {
  const hold = async (thing: { acquire(): Promise<{ release(): void }> }) => {
    const guard = await thing.acquire();
    await turn();
    guard.release();
  };
  const lock = new Lock(), semaphore = new Semaphore(2), rw = new RwLock(), keyed = new KeyedMutex();
  const keyedSemaphore = new KeyedSemaphore(1), pool = new Pool(2), queue = new Queue<number>(1), event = new Event();
  const queueLock = new Lock(), runLock = new Lock(), late = new Lock(), barrier = new Barrier(WORKERS);
  const limiter = new RateLimiter(1e9, 1), condition = new Condition(), set = new SetEvent<number>();
  const flights = new SingleFlight<string>(), group = new TaskGroup({ limit: 2 }), full = new Lock({ maxWaiting: 0 });
  const first = new Lock(), second = new Lock(), detached = [new Lock(), new Lock()];
  return {
    "Queue and Lock": async (worker) => {
      if (worker === 0) return await queue.put(1);
      await queue.get();
      await hold(queueLock);
    },
    "Lock": () => hold(lock),
    "Lock.run": () => runLock.run(turn),
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
    "Semaphore": () => hold(semaphore),
    "RwLock": (worker) => hold(worker === 0 ? rw.writer : rw.reader),
    "KeyedMutex": () => hold(keyed.at("key")),
    "KeyedSemaphore": () => hold(keyedSemaphore.at("key")),
    "Pool.run": () => pool.run(turn),
    "Pool.map": async () => {
      for await (const _ of pool.map([1, 2], turn)) break;
    },
    "Event": async (worker) => {
      if (worker > 0) return await event.wait();
      event.set();
      event.clear();
      await turn();
    },
    "Condition": async (worker) => {
      const guard = await condition.acquire();
      if (worker === 0) condition.notifyAll();
      else await condition.wait({ timeout: 1 }).catch(() => {});
      guard.release();
    },
    "Barrier": () => barrier.wait(),
    "RateLimiter": () => limiter.acquire(),
    "SetEvent": async (worker) => {
      if (worker > 0) return await set.wait();
      set.add(1);
      await turn();
      set.delete(1);
    },
    "SingleFlight": () => flights.run("key", turn),
    "TaskGroup": () => group.run(turn),
    "acquireAll": async (worker) => {
      const held = await acquireAll(worker === 0 ? [first, second] : [second, first]);
      await turn();
      await held.release();
    },
  };
}

async function growthOf(operation: Operation): Promise<number> {
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
  await counter.reach(WARM);
  // What is kept shows every time; what a run-time compiles or caches only now and then.
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    const before = heap();
    const from = counter.done;
    await counter.reach(from + COUNTED);
    least = Math.min(least, (heap() - before) / (counter.done - from));
  }
  isOver = true;
  return least;
}

/** What may be on, by name. */
const observers: Record<string, () => Disposable> = {
  watchdog: () => watchdog({ report() {} }),
  metrics: () => metrics(meter),
  trace: () => trace({ limit: 100 }),
  channels,
  observe: () => observe({ wait() {}, grant() {}, giveUp() {}, release() {} }),
  dashboard: () => {
    const show = dashboard();
    const reader = show(new Request("http://localhost/?events=")).body!.getReader();
    (async () => {
      while (!(await reader.read()).done);
    })();
    return show;
  },
};
const [, , on = "", counted = "1000", only] = process.argv;
const COUNTED = Number(counted);
const kept = on.split(",").map((name) => observers[name]?.());

const found: Record<string, number> = {};
for (const [name, operation] of Object.entries(situations())) {
  if (only === undefined || only === name) found[name] = Math.round(await growthOf(operation));
}
console.log(JSON.stringify(found));
process.exit(kept.length > 0 ? 0 : 1);
