/** WebLock between the threads of one process, in the run-times that have navigator.locks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { TimeoutError, WebLock } from "../../lib/web/mod.ts";
import { runtime, test } from "../_test.ts";
import { until } from "../_tools.ts";
import { freshName, platform } from "./_managers.ts";

async function holder(name: string): Promise<Worker> {
  const worker = new Worker(new URL("./_web_worker.ts", import.meta.url), { workerData: name });
  assert.equal((await once(worker, "message"))[0], "held");
  return worker;
}

if (platform !== undefined) {
  test("WebLock: excludes another thread until that releases", async () => {
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
} else {
  test("WebLock: threads share no locks in this run-time, as docs/web.md says", () => {
    const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
    assert.ok(runtime === "bun" || runtime === "node" && (major < 24 || major === 24 && minor < 5), process.version);
  });
}
