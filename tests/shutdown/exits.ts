/**
 * A process of the tests that ends, or a worker thread that waits for signals. `early`: exits with a request in flight.
 * `endless`: has no end of grace, and work that keeps no
 * process alive. `step`: exits in a clean-up step. `after`: exits when the shutdown is finished. `before`: exits without one. `worker`: makes
 * a GracefulShutdown in a worker thread; `quiet worker`: one without OS signals.
 */
import process from "node:process";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { GracefulShutdown } from "../../mod.ts";

const mode: string = isMainThread ? process.argv[2] ?? "" : workerData;
if (isMainThread && mode.endsWith("worker")) {
  new Worker(new URL(import.meta.url), { workerData: mode, execArgv: process.execArgv });
} else {
  const grace = mode === "endless" ? Infinity : undefined;
  const shutdown = new GracefulShutdown({ grace, ...(mode !== "worker" && { signals: [] }) });
  if (mode === "early") shutdown.track(new Promise(() => {}), "the endless one");
  if (mode === "endless") shutdown.track(new Promise<void>((resolve) => setTimeout(resolve, 100).unref()));
  if (mode === "step") shutdown.defer(() => process.exit(0), "leaves");
  else shutdown.defer(() => {});
  if (mode !== "before") shutdown.request();
  if (mode === "early" || mode === "before") process.exit(0);
  const { ok } = await shutdown.finished;
  if (isMainThread) process.exit(ok ? 0 : 1);
}
