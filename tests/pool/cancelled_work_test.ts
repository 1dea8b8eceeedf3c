/** Cancelled functions of a pool that wait for the platform: their errors are cancellations, not failures. */
import assert from "node:assert/strict";
import { EventEmitter, on, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { deferred } from "../_tools.ts";

/** Waits until the signal aborts, and rejects then. */
type Work = (signal: AbortSignal) => Promise<unknown>;

/** Each way to cancel is one case for the pool (cancel_test, map_failures_test), so one of them will do. */
async function checkCancelledWork(work: Work): Promise<void> {
  for (const reason of [undefined, new Error("stop"), "stop"]) {
    const pool = new Pool(3);
    const begun = deferred();
    const task = await pool.createTask((signal) => {
      setTimeout(begun.resolve, 0); // it is under way by then
      return work(signal);
    });
    await begun.promise;
    task.cancel(reason);
    await pool.join();
    assert.equal(task.status, "cancelled");
  }
}

/** Each waits until the signal aborts. */
const works: Record<string, Work> = {
  "node:timers/promises": (signal) => sleep(60_000, undefined, { signal }),
  "node:events once": (signal) => once(new EventEmitter(), "never", { signal }),
  "node:events on": async (signal) => {
    for await (const _ of on(new EventEmitter(), "never", { signal }));
  },
  "node:stream pipeline": (signal) => pipeline(new PassThrough(), new PassThrough(), { signal }),
  "fetch": async (signal) => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { signal });
    } finally {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  },
};

for (const [name, work] of Object.entries(works)) {
  test(`Pool: a cancelled ${name} is no failure`, () => checkCancelledWork(work));
}

test("Pool: an AbortError before its signal has aborted is a failure", async () => {
  await using pool = new Pool(1);
  const error = new DOMException("of another signal", "AbortError");
  const task = await pool.createTask((_) => Promise.reject(error));
  await assert.rejects(pool.join(), error);
  assert.equal(task.status, "rejected");
});
