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

/** Waits until the signal aborts, and rejects then. */
type Work = (signal: AbortSignal) => Promise<unknown>;

/** Cancels `work` in every way that a pool has. */
async function checkCancelledWork(work: Work): Promise<void> {
  for (const reason of [undefined, new Error("stop"), "stop"]) {
    const started = () => {
      let go!: () => void;
      const begun = new Promise<void>((resolve) => go = resolve);
      const begin = (signal: AbortSignal) => {
        setTimeout(go, 0); // it is under way by then
        return work(signal);
      };
      return { begun, begin };
    };

    const tasks = new Pool(3);
    const first = started();
    const task = await tasks.createTask(first.begin);
    await first.begun;
    task.cancel(reason);
    await tasks.join();
    assert.equal(task.status, "cancelled");

    const mapped = new Pool(3);
    for await (const one of mapped.map([0, 1, 2], (n, _, signal) => n === 0 ? n : work(signal))) {
      assert.equal(one, 0);
      break;
    }
    await mapped.join();

    const whole = new Pool(3);
    const second = started();
    const running = await whole.createTask(second.begin);
    const called = whole.run(work).catch(() => {});
    await second.begun;
    whole.cancel(reason);
    await Promise.all([whole.join(), called]);
    assert.equal(running.status, "cancelled");
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
