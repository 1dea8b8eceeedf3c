/** What has to hold for every function that ends with an error because its signal has aborted. */
import assert from "node:assert/strict";
import type { Pool } from "../../mod.ts";

/** Waits until the signal aborts, and rejects then. */
export type Work = (signal: AbortSignal) => Promise<unknown>;

/** Cancels `work` in every way that a pool has. */
export async function checkCancelledWork(PoolClass: typeof Pool, work: Work): Promise<void> {
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

    const tasks = new PoolClass(3);
    const first = started();
    const task = await tasks.createTask(first.begin);
    await first.begun;
    task.cancel(reason);
    await tasks.join();
    assert.equal(task.status, "cancelled");

    const mapped = new PoolClass(3);
    for await (const one of mapped.map([0, 1, 2], (n, _, signal) => n === 0 ? n : work(signal))) {
      assert.equal(one, 0);
      break;
    }
    await mapped.join();

    const whole = new PoolClass(3);
    const second = started();
    const running = await whole.createTask(second.begin);
    const called = whole.run(work).catch(() => {});
    await second.begun;
    whole.cancel(reason);
    await Promise.all([whole.join(), called]);
    assert.equal(running.status, "cancelled");
  }
}
