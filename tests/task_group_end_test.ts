/** TaskGroup: how a group ends: cancel, signals, the end of its block or of its scope. */
import assert from "node:assert/strict";
import { TaskGroup, TimeoutError } from "../mod.ts";
import { assertSoundTaskGroup } from "./sound/task_group.ts";
import { test } from "./_test.ts";
import {
  CountingController,
  deferred,
  flushMicrotasks,
  refusesBadOptions,
  rejectsWith,
  states,
  watch,
} from "./_tools.ts";
import { unobservedWarnings } from "./_warnings.ts";
import { fails, untilAborted } from "./_group_tasks.ts";

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

test("task group: a task that is granted its place and cancelled in the same step does not start", async () => {
  const group = new TaskGroup();
  const task = watch(group.run(() => assert.fail("started")));
  group.cancel("enough");
  await group.join();
  assert.equal(task.reason, "enough");
});
