/**
 * What everything local does, in a process of its own from which something is taken first: its name is the argument. Ends
 * with an error if anything fails, or waits for ever.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { taken } from "./_taken.ts";
import type { Needs } from "./kinds/kind.ts";

const { exit, argv } = process;
const what = argv.at(-1)!;
taken[what]!();

const {
  GracefulShutdown,
  KeyedMutex,
  Lock,
  lockOnArguments,
  Pool,
  shareOnArguments,
  SingleFlight,
  TaskGroup,
} = await import("../mod.ts");
const { observe, snapshot, trace } = await import("../lib/diagnostics/mod.ts");
const { exercise } = await import("./kinds/exercise.ts");
const { localKinds } = await import("./kinds/local.ts");

const aborted = async (call: Promise<unknown>) => {
  await assert.rejects(call, (error: Error) => error.name === "AbortError");
};

const events: string[] = [];
const observing = observe({ grant: ({ kind }) => void events.push(kind) });
const tracing = trace();

for (const { make, calls } of Object.values(localKinds)) {
  for (const call of Object.values(calls(make(undefined, {} as Needs)))) await exercise(call);
}

{
  const lock = new Lock();
  const guard = await lock.acquire();
  const waits = lock.acquire();
  lock.cancel();
  await aborted(waits);
  guard.release();
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
