/** WebLock between the threads of one process, where the run-time has navigator.locks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { TimeoutError, WebLock } from "../../lib/web/mod.ts";
import { test } from "../_test.ts";
import { until } from "../_tools.ts";
import { freshName, platform } from "./_managers.ts";

async function holder(name: string): Promise<Worker> {
  const worker = new Worker(new URL("./_web_worker.ts", import.meta.url), { workerData: name });
  assert.equal((await once(worker, "message"))[0], "held");
  return worker;
}

test("WebLock: excludes another thread until that releases", async () => {
  if (platform === undefined) return;
  const name = freshName();
  const worker = await holder(name);
  const lock = new WebLock(name);
  assert.equal(await lock.tryAcquire(), undefined);
  await assert.rejects(lock.acquire({ timeout: 10 }), TimeoutError);
  const granted = lock.acquire({ timeout: 10_000 });
  worker.postMessage("release");
  assert.equal((await once(worker, "message"))[0], "released");
  const guard = await granted;
  assert.equal(guard.held, true);
  await guard.release();
  await worker.terminate();
});

test("WebLock: a thread that is terminated releases", async () => {
  if (platform === undefined) return;
  const name = freshName();
  const worker = await holder(name);
  await worker.terminate();
  const lock = new WebLock(name);
  // A waiter of Node 26.10 would wake only at the next request, so this asks again.
  await until(async () => {
    const guard = await lock.tryAcquire();
    await guard?.release();
    return guard !== undefined;
  });
});
