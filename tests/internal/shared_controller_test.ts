/** Signals that many functions share, where the global AbortController is not the platform's, as under jsdom. */
import assert from "node:assert/strict";
import { GracefulShutdown, Pool, TaskGroup } from "../../mod.ts";
import { ForeignSignal } from "../_foreign_signal.ts";
import { test } from "../_test.ts";

/** Its signal is no EventTarget of the platform. */
class ForeignController {
  readonly signal = Object.assign(new ForeignSignal(), {
    throwIfAborted(): void {},
  });

  abort(): void {
    this.signal.abort();
  }
}

test("an AbortController of another realm: maps, groups and shutdowns work", async () => {
  const own = globalThis.AbortController;
  globalThis.AbortController = ForeignController as never;
  try {
    assert.deepEqual(await new Pool(1).map([1, 2], async (n) => await Promise.resolve(2 * n)).toArray(), [2, 4]);
    const group = new TaskGroup();
    assert.equal(await group.run(({ aborted }) => aborted), false);
    await group.join();
    const shutdown = new GracefulShutdown({ signals: [] });
    shutdown.track(Promise.resolve());
    shutdown.request();
    assert.equal((await shutdown.finished).drained, true);
  } finally {
    globalThis.AbortController = own;
  }
});
