/** GracefulShutdown: clean-up steps, and what was cut by force. */
import assert from "node:assert/strict";
import { TimeoutError } from "../../mod.ts";
import { runProgram } from "../_program.ts";
import { test } from "../_test.ts";
import { finish, gate, quiet } from "./client.ts";
import { flushMicrotasks, nextTurn } from "../_tools.ts";

test("GracefulShutdown: what is left when the grace time is over is cut and listed", async () => {
  const shutdown = quiet({ grace: 20 });
  const settled = gate();
  shutdown.track(settled.promise, "settled");
  shutdown.track(new Promise(() => {}), "endless");
  shutdown.track(() => new Promise(() => {}), "endless too");
  shutdown.request("go");
  settled.open();
  const { drained, remaining, elapsed, reason } = await shutdown.finished;
  assert.deepEqual([drained, remaining, reason], [false, ["endless", "endless too"], "go"]);
  assert.ok(elapsed >= 19, `after ${elapsed} ms`);
  assert.ok(shutdown.forced.aborted);
  assert.ok(shutdown.forced.reason instanceof TimeoutError);
  assert.equal(shutdown.forced.reason.message, "Cannot drain: not done after 20 ms");
});

test("GracefulShutdown: no grace at all, and grace without end", async () => {
  const none = quiet({ grace: 0 });
  none.track(new Promise(() => {}), "late");
  assert.deepEqual((await finish(none)).remaining, ["late"]);
  const idle = quiet({ grace: 0 });
  assert.equal((await finish(idle)).drained, true);
  const endless = quiet({ grace: Infinity });
  const work = gate();
  endless.track(work.promise);
  endless.request();
  work.open();
  assert.equal((await endless.finished).drained, true);
  const long = quiet({ grace: 2 ** 33 });
  long.track(new Promise((resolve) => setTimeout(resolve, 10)));
  assert.equal((await finish(long)).drained, true);
});

test("GracefulShutdown: grace without end keeps the process waiting for work that keeps no process alive", async () => {
  const { code, err } = await runProgram(new URL("./exits.ts", import.meta.url), ["endless"]);
  assert.equal(code, 0, err); // Node ends with 13 if nothing is left to do
});

test("GracefulShutdown: a callback or a step that is cancelled by force has not failed", async () => {
  const boom = new Error("boom");
  const errors: ((signal: AbortSignal) => unknown)[] = [
    (signal) => signal.reason,
    (signal) => new Error("wrapped", { cause: signal.reason }),
    () => Object.assign(new Error("canceled"), { code: "ERR_CANCELED" }),
    () => Object.assign(new Error("aborted"), { name: "AbortError" }),
    () => boom,
  ];
  for (const way of ["onShutdown", "defer"] as const) {
    const shutdown = quiet({ grace: 20 });
    for (const error of errors) {
      shutdown[way]((signal) =>
        new Promise((_, reject) => {
          if (signal.aborted) reject(error(signal));
          else signal.addEventListener("abort", () => reject(error(signal)));
        })
      );
    }
    assert.deepEqual((await finish(shutdown)).errors, [boom], way);
  }
});

test("GracefulShutdown: a clean-up step that is cancelled by force was cut", async () => {
  const shutdown = quiet({ grace: 20 });
  const cancelled = (signal: AbortSignal) =>
    new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener("abort", () => reject(signal.reason));
    });
  shutdown.defer(cancelled, "begins too late");
  shutdown.defer(() => {}, "ends at once");
  shutdown.defer(cancelled, "flush");
  const { ok, drained, remaining, errors } = await finish(shutdown);
  assert.deepEqual([ok, drained, remaining, errors], [false, false, ["flush", "begins too late"], []]);
});

test("GracefulShutdown: what is in flight when it is forced was cut, also if it ends by itself at that moment", async () => {
  const untilForced = (forced: AbortSignal, steps: number) =>
    new Promise<void>((resolve) => {
      forced.addEventListener("abort", async () => {
        for (let i = 0; i < steps; i++) await undefined;
        resolve();
      });
    });
  for (const steps of [0, 1, 2, 3, 10]) {
    const shutdown = quiet({ grace: 20 });
    shutdown.onShutdown((forced) => untilForced(forced, steps), "closing");
    void shutdown.track(untilForced(shutdown.forced, steps), "job");
    void shutdown.track(Promise.resolve(), "done");
    const { ok, drained, remaining, errors } = await finish(shutdown);
    assert.deepEqual([ok, drained, [...remaining].sort(), errors], [false, false, ["closing", "job"], []], `${steps}`);
  }
});

test("GracefulShutdown: clean-up steps run in reverse order, one after the other, after the drain", async () => {
  const shutdown = quiet();
  const order: string[] = [];
  const work = gate();
  shutdown.defer(async (signal) => {
    order.push("first in");
    assert.equal(signal, shutdown.forced);
    await nextTurn();
    order.push("first in, end");
  });
  shutdown.defer(() => Promise.reject(new Error("second")), "second");
  shutdown.defer(() => {
    throw new Error("third");
  });
  shutdown.defer(async () => {
    order.push("last in");
    await nextTurn();
    order.push("last in, end");
  });
  shutdown.track(work.promise.then(() => order.push("work")));
  shutdown.request();
  await nextTurn();
  assert.deepEqual(order, []);
  work.open();
  const { drained, errors } = await shutdown.finished;
  assert.equal(drained, true);
  assert.deepEqual(order, ["work", "last in", "last in, end", "first in", "first in, end"]);
  assert.deepEqual(errors.map((error) => (error as Error).message), ["third", "second"]);
});

test("GracefulShutdown: a clean-up step is bounded by the rest of the grace time", async () => {
  const shutdown = quiet({ grace: 30 });
  const order: string[] = [];
  shutdown.defer(() => void order.push("quick"), "quick");
  shutdown.defer(() => new Promise(() => {}), "pool");
  shutdown.defer(() => new Promise(() => {}), "database");
  const { drained, remaining, errors } = await finish(shutdown);
  assert.deepEqual([drained, remaining, order], [true, [], ["quick"]]);
  assert.ok(errors.every((error) => error instanceof TimeoutError));
  assert.deepEqual(errors.map((error) => (error as Error).message), [
    "Cannot finish database: the grace time is over",
    "Cannot finish pool: the grace time is over",
  ]);
});

test("GracefulShutdown: clean-up steps run after a forced drain, too", async () => {
  const shutdown = quiet({ grace: 10 });
  let closed = false;
  shutdown.defer(async () => {
    await flushMicrotasks();
    closed = true;
  });
  shutdown.track(new Promise(() => {}), "endless");
  const { remaining, errors } = await finish(shutdown);
  assert.deepEqual([remaining, errors, closed], [["endless"], [], true]);
});
