/**
 * What everything local does, in a process of its own from which something is taken first: its name is the argument. Ends
 * with an error if anything fails, or waits for ever.
 */
import assert from "node:assert/strict";
import process from "node:process";

/** As React Native and older polyfills have it: no reason, and none of the newer methods. */
function oldSignals(): void {
  class OldSignal {
    aborted = false;
    readonly #listeners = new Set<() => void>();
    addEventListener(_: string, listener: () => void): void {
      this.#listeners.add(listener);
    }
    removeEventListener(_: string, listener: () => void): void {
      this.#listeners.delete(listener);
    }
    notify(): void {
      if (this.aborted) return;
      this.aborted = true;
      for (const listener of [...this.#listeners]) listener();
    }
  }
  class OldController {
    readonly signal = new OldSignal();
    abort(): void {
      this.signal.notify();
    }
  }
  Object.assign(globalThis, { AbortSignal: OldSignal, AbortController: OldController });
}

function without(...names: string[]): () => void {
  return () => {
    for (const name of names) Object.defineProperty(globalThis, name, { value: undefined, configurable: true });
  };
}

const taken: Readonly<Record<string, () => void>> = {
  "nothing": () => {},
  "new members of signals": oldSignals,
  "new members of signals, and DOMException": () => {
    oldSignals();
    without("DOMException")();
  },
  "SharedArrayBuffer and Atomics": without("SharedArrayBuffer", "Atomics"),
  "crypto": without("crypto"),
  "TextEncoder and TextDecoder": without("TextEncoder", "TextDecoder"),
  "process, but for env": () => Object.defineProperty(globalThis, "process", { value: { env: {} } }),
  "process": without("process"),
  "what is newer than ES2019": () => void delete (String.prototype as { replaceAll?: unknown }).replaceAll,
};

const { exit, argv } = process;
const what = argv.at(-1)!;
taken[what]!();

const {
  acquireAll,
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  GracefulShutdown,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  lockOnArguments,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  shareOnArguments,
  SingleFlight,
  TaskGroup,
  TimeoutLock,
} = await import("../mod.ts");
const { observe, snapshot, trace } = await import("../lib/diagnostics/mod.ts");

const aborted = async (call: Promise<unknown>) => {
  await assert.rejects(call, (error: Error) => error.name === "AbortError");
};
const timedOut = (call: Promise<unknown>) => assert.rejects(call, (error: Error) => error.name === "TimeoutError");

/** Three calls wait: the middle one is aborted, the last one is out of time, and the first one is granted. */
async function holdable(
  make: () => {
    acquire(options?: object): Promise<{ release(): void }>;
    run<T>(fn: () => T): Promise<T>;
  },
): Promise<void> {
  const thing = make();
  const guard = await thing.acquire();
  const controller = new AbortController();
  const first = thing.acquire();
  const middle = thing.acquire({ signal: controller.signal });
  const last = thing.acquire({ timeout: 1 });
  controller.abort();
  await aborted(middle);
  await timedOut(last);
  guard.release();
  (await first).release();
  assert.equal(await thing.run(() => 1), 1);
}

const events: string[] = [];
const observing = observe({ grant: ({ kind }) => void events.push(kind) });
const tracing = trace();

for (
  const make of [
    () => new Lock(),
    () => new TimeoutLock(60_000),
    () => new Semaphore(1),
    () => new BoundedSemaphore(1),
    () => new RwLock().writer,
    () => new Condition(),
    () => new KeyedMutex().at(1),
    () => new KeyedSemaphore(1).at(1),
  ]
) await holdable(make);

{
  const lock = new Lock();
  const guard = await lock.acquire();
  const waits = lock.acquire();
  lock.cancel();
  await aborted(waits);
  guard.release();
}
{
  const event = new Event();
  await timedOut(event.wait({ timeout: 1 }));
  const waits = event.wait();
  event.set();
  await waits;
  const members = new SetEvent([1]);
  const empty = members.wait();
  members.delete(1);
  await empty;
  const barrier = new Barrier(2);
  assert.deepEqual(await Promise.all([barrier.wait(), barrier.wait()]), [0, 1]);
  const condition = new Condition();
  await condition.run(async () => {
    await timedOut(condition.waitFor(() => false, { timeout: 1 }));
  });
}
await (await acquireAll([new Lock(), new KeyedMutex().at(1)], { timeout: 60_000 })).release();
{
  const limiter = new RateLimiter(1, 5);
  await limiter.acquire();
  await limiter.acquire();
  await new KeyedRateLimiter(1, 5).run("a", () => {});
  const queue = new Queue<number>(1);
  await queue.put(1);
  assert.equal(await queue.get(), 1);
  const waits = queue.get();
  queue.cancel();
  await aborted(waits);
}
{
  const flights = new SingleFlight();
  assert.equal(await flights.run("a", () => 1), 1);
  assert.equal(await shareOnArguments(new SingleFlight<string>(), [0])((n: number) => n)(2), 2);
  assert.equal(await lockOnArguments(new KeyedMutex<string>(), [0])((n: number) => n)(3), 3);
}
{
  const group = new TaskGroup();
  const failed = group.run(() => Promise.reject(new RangeError("failed"))).catch(() => {});
  const other = group.run((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
  await failed;
  await other;
  await assert.rejects(group.join(), RangeError);
  const cancelled = new TaskGroup({ limit: 1 });
  void cancelled.run((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
  const waits = cancelled.run(() => {});
  cancelled.cancel();
  await aborted(waits);
  await cancelled.join();
}
{
  const pool = new Pool(2);
  assert.deepEqual(await pool.map([1, 2, 3], (n) => 2 * n).toArray(), [2, 4, 6]);
  for await (const _ of pool.map([1, 2, 3], (n, _, signal) => (signal.aborted, n))) break;
  await assert.rejects(pool.map([1, 2], () => Promise.reject(new RangeError("failed"))).toArray(), RangeError);
  const stopping = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const task = await pool.createTask(stopping);
  task.cancel();
  await task.result.catch(() => {});
  const controller = new AbortController();
  const running = pool.run(stopping, { signal: controller.signal });
  for (let i = 0; i < 9; i++) await undefined; // it has started
  controller.abort();
  await running;
  const more = [1, 2].map(() => pool.run(stopping));
  const waits = pool.run(() => {});
  for (let i = 0; i < 9; i++) await undefined;
  pool.cancel();
  await aborted(waits);
  await Promise.all(more);
  await pool.join();
}
{
  const shutdown = new GracefulShutdown({ signals: [] });
  await shutdown.track(Promise.resolve());
  shutdown.onShutdown(() => {});
  shutdown.request("over");
  assert.equal((await shutdown.finished).drained, true);
}
assert.ok(events.includes("lock"));
assert.deepEqual(snapshot().length, 0);
assert.ok(JSON.stringify(tracing).length > 100);
observing[Symbol.dispose]();
tracing[Symbol.dispose]();
exit(0);
