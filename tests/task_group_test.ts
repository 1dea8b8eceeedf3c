/** TaskGroup: tasks, places, failures and joins. */
import assert from "node:assert/strict";
import { TaskGroup } from "../mod.ts";
import { assertSoundTaskGroup } from "./sound/task_group.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { test } from "./_test.ts";
import { deferred, flushMicrotasks, rejectsWith, watch } from "./_tools.ts";
import { leakWarnings } from "./_warnings.ts";
import { fails, named, untilAborted } from "./_group_tasks.ts";

test("task group: a task starts in a later microtask, and gets the group's signal", async () => {
  const group = new TaskGroup();
  let seen: AbortSignal | undefined;
  const task = group.run((signal) => void (seen = signal));
  assert.equal(seen, undefined);
  assert.equal(group.active, 1);
  await task;
  assert.equal(seen, group.signal);
});

test("task group: each call of a wrapped function is a task, with its own this and arguments", async () => {
  const group = new TaskGroup();
  const account = {
    balance: 1,
    add: group.wrap(function add(this: { balance: number }, ...amounts: number[]) {
      return (this.balance += amounts[0]!) + amounts.length;
    }),
  };
  assert.deepEqual([await account.add(2), account.add.name], [4, "add"]);
  const error = new Error("from fn");
  const fail = group.wrap(() => Promise.reject(error));
  await rejectsWith(fail(), error);
  await rejectsWith(group.join(), error);
  assert.throws(() => group.wrap(function* () {}), /^TypeError: fn must not be a generator function/);
});

const first = new Error("first");
const other = new Error("disk");

/** What a task throws after the group has aborted with `first`, and whether it counts as a failure; more in is_cancellation_test.ts. */
const afterAbort: readonly (readonly [what: string, error: unknown, isFailure: boolean])[] = [
  ["the reason itself", first, false],
  ["an AbortError of the platform", new DOMException("aborted", "AbortError"), false],
  ["any error with the reason as its cause", new Error("wrapped", { cause: first }), false],
  ["an AbortError with another cause", named("AbortError", { cause: other }), true],
  ["any other error", other, true],
  ["undefined", undefined, true],
];

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
  await using group = new TaskGroup();
  const warnings = await leakWarnings(async () => {
    for (let i = 0; i < 20; i++) group.run(untilAborted);
    await flushMicrotasks();
  });
  assert.deepEqual(warnings, []);
  group.cancel();
});
