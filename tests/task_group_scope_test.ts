/** TaskGroup.scope: its function, its tasks, and the first of their failures. */
import assert from "node:assert/strict";
import { TaskGroup } from "../mod.ts";
import { assertSoundTaskGroup } from "./sound/task_group.ts";
import { test } from "./_test.ts";
import { CountingController, deferred, flushMicrotasks, rejectsWith, states, watch } from "./_tools.ts";
import { fails, named, untilAborted } from "./_group_tasks.ts";

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
