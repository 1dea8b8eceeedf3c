/** Signals that many functions share, where the global AbortController is not the platform's, as under jsdom. */
import assert from "node:assert/strict";
import { GracefulShutdown, Pool, SingleFlight, TaskGroup } from "../../mod.ts";
import { ForeignSignal } from "../_foreign_signal.ts";
import { test } from "../_test.ts";
import { leakWarnings } from "../_warnings.ts";

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

test("signals that functions get: any number of listeners is no leak", async () => {
  const pool = new Pool(1);
  const group = new TaskGroup();
  const shutdown = new GracefulShutdown({ signals: [] });
  const listen = (signal: AbortSignal) => {
    for (let i = 0; i < 12; i++) signal.addEventListener("abort", () => {});
  };
  assert.deepEqual(
    await leakWarnings(async () => {
      await pool.run(listen);
      await pool.run((...[signal]: [AbortSignal]) => listen(signal)); // takes no argument of its own: the pool's signal
      await pool.run(listen, { signal: new AbortController().signal });
      await (await pool.createTask(listen)).result;
      await pool.map([1], (_item, _index, signal) => listen(signal)).toArray();
      await group.run(listen);
      await new SingleFlight<string>().run("key", listen);
      listen(shutdown.signal);
      listen(shutdown.forced);
    }),
    [],
  );
  await group.join();
  shutdown.request();
  await shutdown.finished;
});
