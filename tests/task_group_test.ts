import assert from "node:assert/strict";
import { Lock, TaskGroup, TimeoutError } from "../mod.ts";
import { assertSoundTaskGroup } from "../lib/task_group.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { test } from "./_test.ts";
import {
  CountingController,
  deferred,
  flushMicrotasks,
  refusesBadOptions,
  rejectsWith,
  seeded,
  states,
  watch,
} from "./_tools.ts";
import { unobservedWarnings } from "./_warnings.ts";

/** Rejects with the signal's reason when it aborts, as fetch does. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason));
  });
}

const fails = (error: unknown) => () => Promise.reject(error);

test("task group: run resolves to the result, and join waits for all", async () => {
  const group = new TaskGroup();
  const gate = deferred<number>();
  const tasks = [watch(group.run(() => gate.promise)), watch(group.run((signal) => signal.aborted))];
  const joining = watch(group.join());
  assert.equal(await states([...tasks, joining]), "pending fulfilled pending");
  assert.deepEqual([group.active, group.waiting], [1, 0]);
  gate.resolve(5);
  await joining.promise;
  assert.deepEqual([tasks[0]!.value, tasks[1]!.value, group.active], [5, false, 0]);
  assertSoundTaskGroup(group);
});

test("task group: a task starts in a later microtask, and gets the group's signal", async () => {
  const group = new TaskGroup();
  let seen: AbortSignal | undefined;
  const task = group.run((signal) => void (seen = signal));
  assert.equal(seen, undefined);
  assert.equal(group.active, 1);
  await task;
  assert.equal(seen, group.signal);
});

test("task group: the first failure aborts the others, all are awaited, and join throws it", async () => {
  const group = new TaskGroup({ limit: 2 });
  const error = new Error("first");
  const cleanUp = deferred();
  const slow = watch(group.run(async (signal) => {
    await untilAborted(signal).catch(() => {});
    await cleanUp.promise;
    throw signal.reason;
  }));
  const failed = watch(group.run(fails(error)));
  const late = watch(group.run(() => assert.fail("started")));
  const joining = watch(group.join());
  assert.equal(await states([slow, failed, joining]), "pending rejected pending");
  assert.equal(group.signal.reason, error);
  assert.equal(late.state, "rejected");
  cleanUp.resolve();
  await rejectsWith(joining.promise, error);
  assert.equal(slow.reason, error);
  await rejectsWith(group.join(), error);
  await group[Symbol.asyncDispose]();
  assertSoundTaskGroup(group);
});

test("task group: the end of the block does not throw again what join has thrown", async () => {
  const error = new Error("failed");
  const block = async (join: (group: TaskGroup) => Promise<unknown>) => {
    await using group = new TaskGroup();
    group.run(fails(error));
    group.run(fails(error)).catch(() => {});
    await join(group);
  };
  await rejectsWith(block((group) => group.join()), error);
  await block((group) => group.join().catch(() => {}));
  await rejectsWith(block((group) => group.join({ timeout: 0 }).catch(() => {})), error); // it has not thrown the failure
  await rejectsWith(block((group) => group.run(() => {})), error);
});

test("task group: a join and an end of the block that wait at once both throw", async () => {
  const group = new TaskGroup();
  const error = new Error("failed");
  group.run(fails(error));
  const waiting = [group.join(), group[Symbol.asyncDispose](), group.join()].map(watch);
  assert.equal(await states(waiting), "rejected rejected rejected");
  for (const { reason } of waiting) assert.equal(reason, error);
});

test("task group: the signal of the options aborts while the group is being cancelled", async () => {
  for (const isCancelled of [true, false]) {
    const controller = new CountingController();
    const group = new TaskGroup({ signal: controller.signal });
    const [error, reason] = [new Error("failed"), new Error("from outside")];
    const cleanUp = deferred();
    group.run((signal) => untilAborted(signal).catch(() => cleanUp.promise));
    await flushMicrotasks();
    if (isCancelled) group.cancel();
    else await rejectsWith(group.run(fails(error)), error);
    controller.abort(reason);
    assertSoundTaskGroup(group);
    cleanUp.resolve();
    await rejectsWith(group.join(), isCancelled ? reason : error); // a failure comes before the reason
    assert.equal(controller.listeners, 0);
  }
});

test("task group: a synchronous throw is a failure like any other", async () => {
  const group = new TaskGroup();
  const error = new Error("sync");
  group.run(() => {
    throw error;
  });
  await rejectsWith(group.join(), error);
});

test("task group: several failures come in the order in which they happened, also if their promises were handled", async () => {
  const group = new TaskGroup({ name: "pages" });
  const gates = [deferred(), deferred(), deferred()];
  const errors = gates.map((_, i) => new Error(`failure ${i}`));
  gates.forEach(({ promise }, i) => group.run(() => promise.then(() => Promise.reject(errors[i]))).catch(() => {}));
  for (const i of [1, 2, 0]) {
    gates[i]!.resolve();
    await flushMicrotasks();
  }
  await assert.rejects(group.join(), (error: AggregateError) => {
    assert.deepEqual(error.errors, [errors[1], errors[2], errors[0]]);
    assert.equal(error.message, 'Cannot join task group "pages": 3 failures');
    return error instanceof AggregateError;
  });
});

const first = new Error("first");
const other = new Error("disk");

/** What a task throws after the group has aborted with `first`, and whether it counts as a failure. */
const afterAbort: readonly (readonly [what: string, error: unknown, isFailure: boolean])[] = [
  ["the reason itself", first, false],
  ["an AbortError of the platform", new DOMException("aborted", "AbortError"), false],
  ["an AbortError with the reason as its cause", named("AbortError", { cause: first }), false],
  ["any error with the reason as its cause", new Error("wrapped", { cause: first }), false],
  ["a name alone", named("AbortError", {}), false],
  ["a code of Node", Object.assign(new Error("aborted"), { code: "ABORT_ERR" }), false],
  ["a code of axios", Object.assign(new Error("cancelled"), { code: "ERR_CANCELED" }), false],
  ["an AbortError with an empty cause", named("AbortError", { cause: {} }), false],
  ["an AbortError with another cause", named("AbortError", { cause: other }), true],
  ["a code with another cause", Object.assign(new Error("", { cause: other }), { code: "ABORT_ERR" }), true],
  ["any other error", other, true],
  ["an error with the same text", new Error("first"), true],
  ["undefined", undefined, true],
];

function named(name: string, options: ErrorOptions): Error {
  return Object.assign(new Error("cancelled", options), { name });
}

for (const [what, error, isFailure] of afterAbort) {
  test(`task group: after the first failure, ${what} is ${isFailure ? "one more" : "not repeated"}`, async () => {
    const group = new TaskGroup();
    const task = watch(group.run((signal) => untilAborted(signal).catch(fails(error))));
    group.run(fails(first));
    const thrown = await group.join().catch((reason) => reason);
    assert.deepEqual(isFailure ? thrown.errors : thrown, isFailure ? [first, error] : first);
    assert.equal(task.reason, error);

    const cancelled = new TaskGroup();
    cancelled.run((signal) => untilAborted(signal).catch(fails(error)));
    await flushMicrotasks();
    cancelled.cancel(first);
    await (isFailure ? rejectsWith(cancelled.join(), error) : cancelled.join());
  });
}

test("task group: a failure that a task passes on is not repeated", async () => {
  const group = new TaskGroup();
  const inner = watch(group.run((signal) => untilAborted(signal).catch(fails(other))));
  const outer = watch(group.run(() => inner.promise));
  await flushMicrotasks();
  group.cancel();
  await rejectsWith(group.join(), other);
  assert.deepEqual([inner.reason, outer.reason], [other, other]);
});

test("task group: an AbortError of a group that was not aborted is a failure", async () => {
  const group = new TaskGroup();
  const error = new DOMException("of something else", "AbortError");
  group.run(fails(error));
  await rejectsWith(group.join(), error);
});

test("task group: any value can be thrown", async () => {
  for (const thrown of [undefined, null, 0, "text"]) {
    const group = new TaskGroup();
    group.run(fails(thrown));
    const other = watch(group.run(untilAborted));
    await rejectsWith(group.join(), thrown);
    assert.equal(other.state, "rejected");
  }
});

test("task group: a rejected promise that is left alone is no unhandled rejection", async () => {
  // The runner fails a test with an unhandled rejection.
  const group = new TaskGroup({ limit: 1 });
  group.run(fails(new Error("left alone")));
  group.run(() => {});
  await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(group.join(), /left alone/);
});

for (const isBefore of [true, false]) {
  test(`task group: the middle one of three waiting tasks, and a failure ${isBefore ? "before" : "after"} a place is free`, async () => {
    const group = new TaskGroup({ limit: 2 });
    const gates = [deferred(), deferred()];
    const error = new Error("failed");
    const begun: number[] = [];
    gates.forEach(({ promise }) => group.run(() => promise));
    const tasks = [1, 2, 3].map((i) => watch(group.run(() => void begun.push(i))));
    assert.deepEqual([group.active, group.waiting], [2, 3]);
    if (isBefore) gates[0]!.reject(error);
    gates[1]!.resolve();
    if (!isBefore) {
      await flushMicrotasks();
      gates[0]!.reject(error);
    }
    await rejectsWith(group.join(), error);
    assert.deepEqual(begun, isBefore ? [] : [1, 2, 3]);
    for (const { state, reason } of tasks) {
      assert.deepEqual([state, reason], isBefore ? ["rejected", error] : ["fulfilled", undefined]);
    }
    assertSoundTaskGroup(group);
  });
}

test("task group: with a limit, tasks start in order as places are free", async () => {
  const group = new TaskGroup({ limit: 2 });
  let [active, most] = [0, 0];
  const order: number[] = [];
  const tasks = Array.from({ length: 20 }, (_, i) =>
    group.run(async () => {
      order.push(i);
      most = Math.max(most, ++active);
      await flushMicrotasks();
      active--;
      assertSoundTaskGroup(group);
    }));
  await Promise.all(tasks);
  assert.deepEqual([most, order], [2, [...order].sort((a, b) => a - b)]);
  assert.deepEqual([group.active, group.waiting], [0, 0]);
});

test("task group: cancel is no failure", async () => {
  const group = new TaskGroup({ limit: 1 });
  const reason = new Error("enough");
  const running = watch(group.run(untilAborted));
  const waiting = watch(group.run(() => assert.fail("started")));
  await flushMicrotasks();
  group.cancel(reason);
  group.cancel(new Error("later"));
  await group.join();
  assert.deepEqual([running.reason, waiting.reason, group.signal.reason], [reason, reason, reason]);
  await rejectsWith(group.run(() => {}), reason);
  const other = new TaskGroup();
  other.cancel();
  assert.equal((other.signal.reason as Error).name, "AbortError");
  await other[Symbol.asyncDispose]();
});

test("task group: a task that is granted its place and cancelled in the same step does not start", async () => {
  const group = new TaskGroup();
  const task = watch(group.run(() => assert.fail("started")));
  group.cancel("enough");
  await group.join();
  assert.equal(task.reason, "enough");
});

test("task group: a task that fails after cancel makes join throw", async () => {
  const group = new TaskGroup();
  const error = new Error("clean-up");
  group.run((signal) => untilAborted(signal).catch(fails(error)));
  await flushMicrotasks();
  group.cancel();
  await rejectsWith(group.join(), error);
});

test("task group: the signal option aborts the group with its reason, which join throws", async () => {
  const controller = new CountingController();
  const group = new TaskGroup({ signal: controller.signal });
  const reason = new Error("from outside");
  const task = watch(group.run(untilAborted));
  await flushMicrotasks();
  assert.equal(controller.listeners, 1);
  controller.abort(reason);
  assert.equal(controller.listeners, 0);
  await rejectsWith(group.join(), reason);
  assert.equal(task.reason, reason);

  const before = new TaskGroup({ signal: controller.signal });
  await rejectsWith(before.run(() => assert.fail("started")), reason);
  await rejectsWith(before.join(), reason);
});

test("task group: it listens to the signal of the options while it has tasks", async () => {
  const controller = new CountingController();
  const groups = [new TaskGroup({ signal: controller.signal }), new TaskGroup({ signal: controller.signal })];
  assert.equal(controller.listeners, 0);
  const gate = deferred();
  const tasks = groups.map((group) => group.run(() => gate.promise));
  assert.equal(controller.listeners, 1);
  gate.resolve();
  await Promise.all(tasks);
  await flushMicrotasks();
  assert.equal(controller.listeners, 0);
  groups.forEach(assertSoundTaskGroup);
  await groups[1]![Symbol.asyncDispose]();
  const reason = new Error("late");
  controller.abort(reason);
  assert.equal(groups[0]!.signal.reason, reason); // it notices when it is asked
  await rejectsWith(groups[0]!.run(() => assert.fail("started")), reason);
  await rejectsWith(groups[0]!.join(), reason);
  await groups[1]!.join(); // it had ended
  assert.equal(groups[1]!.signal.aborted, false);
});

test("task group: a failure that join has not thrown after 10 s is one warning", async () => {
  if ("document" in globalThis) return; // a browser has no process warnings
  const warnings = await unobservedWarnings(async (time) => {
    const fail = fails(new Error("disk"));
    const group = new TaskGroup({ name: "pages" });
    await group.run(fail).catch(() => {}); // handled, but not by a join
    await time.pass(9900, 100);
    await flushMicrotasks();
    const joined = new TaskGroup();
    joined.run(fail);
    await assert.rejects(joined.join());
    const [waiting, gate] = [new TaskGroup(), deferred()];
    waiting.run(() => gate.promise);
    waiting.run(fail);
    const joining = assert.rejects(waiting.join()); // it will throw, however late
    const scope = assert.rejects(TaskGroup.scope((group) => (group.run(fail), gate.promise)));
    await time.pass(60_000, 1000);
    gate.resolve();
    await Promise.all([joining, scope]);
    await assert.rejects(group.join()); // also afterwards
    await time.pass(60_000, 1000);
  });
  assert.deepEqual(warnings, [
    'Failure in task group "pages" not observed for 10 s: "Error: disk"; use TaskGroup.scope(), or await the group\'s join()',
  ]);
});

test("task group: scope resolves to the result of its function once all tasks have ended", async () => {
  const gate = deferred();
  let group!: TaskGroup;
  const scope = watch(TaskGroup.scope((given) => {
    group = given;
    group.run(() => gate.promise.then(() => void group.run(() => {})));
    return 5;
  }, { name: "pages", limit: 1 }));
  assert.equal(await states([scope]), "pending");
  assert.deepEqual([group.name, group.active], ["pages", 1]);
  assertSoundTaskGroup(group);
  gate.resolve();
  assert.equal(await scope.promise, 5);
  await assert.rejects(group.run(() => {}), /^ClosedError: Cannot run in task group "pages": task group has ended$/);
  assert.equal(await TaskGroup.scope(() => "no tasks"), "no tasks");
});

test("task group: a scope whose function throws cancels its tasks, awaits them, and throws", async () => {
  for (const thrown of [new Error("block"), undefined]) {
    const [cleanUp, gate] = [deferred(), deferred()];
    let reason: unknown = "none";
    const scope = watch(TaskGroup.scope(async (group) => {
      group.run((signal) => untilAborted(signal).catch((error) => (reason = error, cleanUp.promise)));
      await gate.promise;
      throw thrown;
    }));
    await flushMicrotasks();
    gate.resolve();
    assert.equal(await states([scope]), "pending");
    assert.equal(reason, thrown ?? reason);
    cleanUp.resolve();
    await rejectsWith(scope.promise, thrown);
  }
});

test("task group: the failure of a task aborts the signal that the function of a scope waits with", async () => {
  const error = new Error("task");
  const wrapped = named("AbortError", { cause: error });
  for (const thrown of [error, wrapped, new DOMException("aborted", "AbortError")]) {
    const scope = TaskGroup.scope(async (group) => {
      group.run(fails(error));
      await untilAborted(group.signal).catch(fails(thrown));
    });
    await rejectsWith(scope, error);
  }
  await rejectsWith(TaskGroup.scope((group) => group.run(fails(error))), error); // the block passes it on
});

test("task group: a scope throws the error of its function first, then those of tasks", async () => {
  const [early, block, late] = [new Error("early"), new Error("block"), new Error("late")];
  const scope = TaskGroup.scope(async (group) => {
    group.run((signal) => untilAborted(signal).catch(fails(late)));
    await group.run(fails(early)).catch(() => {});
    throw block;
  }, { name: "pages" });
  await assert.rejects(scope, (error: AggregateError) => {
    assert.deepEqual(error.errors, [block, early, late]);
    assert.equal(error.message, 'Cannot join task group "pages": 3 failures');
    return true;
  });
});

test("task group: a scope whose function ends by its own cancellation has no result", async () => {
  const reason = new Error("enough");
  const scope = TaskGroup.scope(async (group) => {
    group.cancel(reason);
    await untilAborted(group.signal);
  });
  await rejectsWith(scope, reason);
  assert.equal(await TaskGroup.scope((group) => (group.cancel(reason), 5)), 5);
});

test("task group: the signal of the options ends a scope, also without tasks", async () => {
  const controller = new CountingController();
  const reason = new Error("from outside");
  const scope = watch(TaskGroup.scope(({ signal }) => untilAborted(signal), { signal: controller.signal }));
  const deaf = deferred<number>();
  const deafScope = watch(TaskGroup.scope(() => deaf.promise, { signal: controller.signal }));
  await flushMicrotasks();
  assert.equal(controller.listeners, 1);
  controller.abort(reason);
  assert.equal(await states([scope, deafScope]), "rejected pending");
  deaf.resolve(1);
  await rejectsWith(deafScope.promise, reason);
  assert.equal(scope.reason, reason);
  assert.equal(controller.listeners, 0);
  await rejectsWith(TaskGroup.scope(() => assert.fail("called"), { signal: controller.signal }), reason);
});

test("task group: a scope rejects for bad arguments, and calls nothing synchronously", async () => {
  let isCalled = false;
  const scope = TaskGroup.scope(() => void (isCalled = true));
  assert.equal(isCalled, false);
  await scope;
  assert.equal(isCalled, true);
  for (const fn of [undefined, 5, Promise.resolve()]) await assert.rejects(TaskGroup.scope(fn as never), TypeError);
  await assert.rejects(TaskGroup.scope(() => {}, { limit: 0 }), RangeError);
});

test("task group: tasks may start tasks until it has ended, also while it is disposed of", async () => {
  const group = new TaskGroup();
  const seen: string[] = [];
  group.run(async () => {
    await flushMicrotasks();
    group.run(async () => {
      await flushMicrotasks();
      await group.run(() => void seen.push("innermost"));
    });
  });
  await group[Symbol.asyncDispose]();
  assert.deepEqual(seen, ["innermost"]);
  await assert.rejects(group.run(() => {}), /^ClosedError: Cannot run in task group: task group has ended$/);
  await group.join();
  await group[Symbol.asyncDispose]();
});

test("task group: join alone does not end it", async () => {
  const group = new TaskGroup({ name: "pages" });
  await group.join();
  assert.equal(await group.run(() => 1), 1);
  await group.join();
  assert.equal(await group.run(() => 2), 2);
  await group[Symbol.asyncDispose]();
  await assert.rejects(group.run(() => {}), /^ClosedError: Cannot run in task group "pages": task group has ended$/);
  await assert.rejects(group.run(5 as never), TypeError);
});

test("task group: no task outlives await using", async () => {
  let running = 0;
  const error = new Error("failed");
  await rejectsWith(
    (async () => {
      await using group = new TaskGroup();
      for (let i = 0; i < 5; i++) {
        group.run(async (signal) => {
          running++;
          await untilAborted(signal).catch(() => {});
          await flushMicrotasks();
          running--;
        });
      }
      group.run(fails(error));
    })(),
    error,
  );
  assert.equal(running, 0);
});

test("task group: join can be cancelled, and three joiners end by themselves", async () => {
  const group = new TaskGroup();
  const gate = deferred();
  group.run(() => gate.promise);
  const controller = new CountingController();
  const joiners = [group.join(), group.join({ signal: controller.signal }), group.join()].map(watch);
  await assert.rejects(group.join({ timeout: 0 }), (error: Error) => {
    assert.equal(error.message, "Cannot join task group: timed out after 0 ms");
    return error instanceof TimeoutError;
  });
  controller.abort("enough");
  assert.equal(await states(joiners), "pending rejected pending");
  assert.equal(controller.listeners, 0);
  assert.equal(group.signal.aborted, false);
  gate.resolve();
  assert.equal(await states(joiners), "fulfilled rejected fulfilled");
  await rejectsWith(group.join({ signal: controller.signal }), "enough");
  await refusesBadOptions((options) => group.join(options));
});

test("task group: arguments are checked", async () => {
  for (const limit of [0, -1, 1.5, NaN]) assert.throws(() => new TaskGroup({ limit }), RangeError);
  assert.throws(() => new TaskGroup({ limit: "1" as never }), TypeError);
  assert.throws(() => new TaskGroup({ signal: {} as never }), TypeError);
  assert.throws(() => new TaskGroup({ name: 1 as never }), TypeError);
  assert.throws(() => new TaskGroup(new AbortController().signal as never), TypeError);
  const group = new TaskGroup();
  for (const fn of [undefined, 5, Promise.resolve()]) await assert.rejects(group.run(fn as never), TypeError);
  assert.equal(group.active, 0);
  await group.join();
});

test("task group: an abort listener that acts on the group", async () => {
  const group = new TaskGroup({ limit: 1 });
  const error = new Error("failed");
  const inner: Promise<unknown>[] = [];
  group.signal.addEventListener("abort", () => {
    inner.push(group.run(() => assert.fail("started")).catch((reason) => reason));
    group.cancel("other");
  });
  group.run(fails(error));
  const waiting = watch(group.run(() => {}));
  await rejectsWith(group.join(), error);
  assert.deepEqual([await inner[0], waiting.reason], [error, error]);
  assertSoundTaskGroup(group);
});

test("task group: observers see waits, holds and releases of places", async () => {
  const group = new TaskGroup({ limit: 1, name: "pages" });
  const events: string[] = [];
  using _ = observe({
    wait: ({ kind, name }) => void events.push(`wait ${kind} ${name}`),
    grant: () => void events.push("grant"),
    release: () => void events.push("release"),
    giveUp: ({ outcome }) => void events.push(`give up ${outcome}`),
  });
  const gate = deferred();
  group.run(() => gate.promise);
  group.run(() => {});
  group.cancel();
  gate.resolve();
  await group.join();
  assert.deepEqual(events, ["grant", "wait task-group pages", "give up error", "release"]);
});

test("task group: many listeners of the signal are no leak", async () => {
  const warnings: unknown[] = [];
  const { default: process } = await import("node:process");
  const onWarning = (warning: unknown) => void warnings.push(warning);
  process.on("warning", onWarning);
  await using group = new TaskGroup();
  for (let i = 0; i < 20; i++) group.run(untilAborted);
  await flushMicrotasks();
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
  group.cancel();
});

test("task group: a random load keeps its invariant, and join knows every failure", () =>
  seeded(async (random) => {
    for (let round = 0; round < 50; round++) {
      const group = new TaskGroup({ limit: random.pick([1, 2, 5, Infinity]) });
      const lock = new Lock();
      const errors: Error[] = [];
      const task = (depth: number) => async (signal: AbortSignal): Promise<void> => {
        assertSoundTaskGroup(group);
        for (let i = random.below(4); i > 0; i--) await lock.run(flushMicrotasks, { signal });
        if (depth > 0 && random.below(2) === 0) group.run(task(depth - 1));
        if (random.below(12) > 0) return;
        const error = new Error("random");
        errors.push(error);
        throw error;
      };
      for (let i = 0; i < 10; i++) group.run(task(3));
      if (random.below(4) === 0) queueMicrotask(() => group.cancel("enough"));
      const outcome = await group[Symbol.asyncDispose]().then(() => [], (error) => error.errors ?? [error]);
      assert.deepEqual(outcome, errors);
      assert.deepEqual([group.active, group.waiting, lock.locked], [0, 0, false]);
      assertSoundTaskGroup(group);
    }
  }));
