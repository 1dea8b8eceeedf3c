/** GracefulShutdown: the signals of the operating system, the delay, and the force of a second signal. */
import assert from "node:assert/strict";
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";
import { test } from "../_test.ts";
import { deliver, gate, quiet } from "./client.ts";
import { nextTurn, withFakeTime } from "../_tools.ts";
import { leakWarnings } from "../_warnings.ts";

test("GracefulShutdown: the first signal of the system asks, the second forces, then nobody listens", async () => {
  const before = process.listenerCount("SIGTERM");
  const shutdown = new GracefulShutdown({ signals: ["SIGTERM", "SIGINT", "SIGTERM"], debounce: 0 });
  assert.equal(process.listenerCount("SIGTERM"), before + 1);
  shutdown.track(new Promise(() => {}), "endless");
  deliver("SIGTERM");
  const { reason } = shutdown.signal;
  assert.equal(reason.name, "AbortError");
  assert.match(reason.message, /SIGTERM/);
  await nextTurn();
  assert.equal(shutdown.forced.aborted, false);
  deliver("SIGINT");
  assert.ok(shutdown.forced.aborted);
  assert.match(shutdown.forced.reason.message, /SIGINT/);
  assert.equal(process.listenerCount("SIGTERM"), before);
  const report = await shutdown.finished;
  assert.deepEqual([report.reason, report.remaining], [reason, ["endless"]]);
});

for (const [options, ms] of [[{}, 250], [{ debounce: 5 }, 5]] as const) {
  test(`GracefulShutdown: an echo of the first signal within ${ms} ms does not force, a later one does`, async () => {
    await withFakeTime(async (time) => {
      const shutdown = new GracefulShutdown(options);
      shutdown.track(new Promise(() => {}), "endless");
      deliver("SIGTERM");
      time.advance(ms - 1);
      deliver("SIGTERM");
      deliver("SIGINT");
      assert.equal(shutdown.forced.aborted, false);
      time.advance(1);
      deliver("SIGINT");
      assert.ok(shutdown.forced.aborted);
      assert.deepEqual((await shutdown.finished).remaining, ["endless"]);
    });
  });
}

test("GracefulShutdown: its signals have any number of listeners", async () => {
  const { signal, forced } = quiet();
  const warnings = await leakWarnings(() => {
    for (let i = 0; i < 100; i++) for (const each of [signal, forced]) each.addEventListener("abort", () => i);
    return Promise.resolve();
  });
  assert.deepEqual(warnings, []);
});

test("GracefulShutdown: after request, the first signal of the system changes nothing", async () => {
  const shutdown = new GracefulShutdown();
  const work = gate();
  shutdown.track(work.promise);
  shutdown.request("by hand");
  deliver("SIGTERM");
  assert.equal(shutdown.signal.reason, "by hand");
  assert.equal(shutdown.forced.aborted, false);
  work.open();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: it listens to what it was told to, and no longer than needed", async () => {
  const count = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
  const before = count();
  const none = quiet();
  assert.deepEqual(count(), before);
  const shutdown = new GracefulShutdown();
  assert.deepEqual(count(), [before[0]! + 1, before[1]! + 1, before[2]]);
  const hup = new GracefulShutdown({ signals: ["SIGHUP"] });
  assert.deepEqual(count(), before.map((n) => n + 1));
  for (const each of [none, shutdown, hup]) each.request();
  await Promise.all([none.finished, shutdown.finished, hup.finished]);
  assert.deepEqual(count(), before);
});

test("GracefulShutdown: the delay is waited out, and cut short by force", async () => {
  const shutdown = quiet({ delay: 30 });
  shutdown.request();
  assert.equal(shutdown.ready, false);
  assert.ok((await shutdown.finished).elapsed >= 29);
  const before = process.listenerCount("SIGTERM");
  const forced = new GracefulShutdown({ grace: 100_000, delay: 100_000, signals: ["SIGTERM"], debounce: 0 });
  deliver("SIGTERM");
  deliver("SIGTERM");
  assert.equal((await forced.finished).drained, true);
  assert.equal(process.listenerCount("SIGTERM"), before);
});

test("GracefulShutdown: a system that refuses a signal throws, and leaves the others alone", () => {
  const { on } = process;
  const before = process.listenerCount("SIGTERM");
  process.on = function (this: typeof process, name: string, listener: () => void) {
    if (name === "SIGBREAK") throw new TypeError("not on this system");
    return on.call(this, name, listener);
  } as typeof on;
  try {
    assert.throws(() => new GracefulShutdown({ signals: ["SIGTERM", "SIGBREAK"] }), /not on this system/);
  } finally {
    process.on = on;
  }
  assert.equal(process.listenerCount("SIGTERM"), before);
});
