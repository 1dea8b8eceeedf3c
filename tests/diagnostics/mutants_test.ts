/** What a slip in one line of the diagnostics would change, and no other test would see. */
import assert from "node:assert/strict";
import process from "node:process";
import { Lock, Semaphore } from "../../mod.ts";
import { type Finding, snapshot, watchdog } from "../../lib/diagnostics/mod.ts";
import { hub } from "../../lib/diagnostics/hub.ts";
import type { Acquisition, Group } from "../../lib/diagnostics/acquisition.ts";
import { Overdue } from "../../lib/diagnostics/search.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";
import { kindsOf, Measurements, Recording, Thing, watched } from "./_tools.ts";

test("watchdog: one that was disposed of is silent at the end of the process, and leaves no listener there", async () => {
  const listeners: (() => void)[] = [];
  const { on } = process;
  const findings: Finding[] = [];
  const before = process.listenerCount("beforeExit");
  process.on = ((event: string, listener: () => void) => {
    if (event === "beforeExit") listeners.push(listener);
    return on.call(process, event, listener);
  }) as typeof process.on;
  const watching = watchdog({ report: (_, finding) => void findings.push(finding) });
  process.on = on;
  const lock = new Lock();
  const guard = await lock.acquire();
  const waiting = lock.acquire();
  listeners[0]!();
  assert.equal(findings.length, 1);
  const another = lock.acquire();
  watching[Symbol.dispose]();
  for (const listener of listeners) listener();
  assert.equal(findings.length, 1);
  assert.equal(process.listenerCount("beforeExit"), before);
  guard.release();
  (await waiting).release();
  (await another).release();
});

test("watchdog: a second deadlock that shares a call with a reported one is reported", () =>
  watched(async (findings, time) => {
    const lock = new Lock({ name: "orders" });
    const controller = new AbortController();
    const { signal } = controller;
    const wait = () => lock.acquire({ signal }).catch(() => {}); // at one place, which makes no difference
    const run = lock.run(async () => {
      const first = wait();
      await time.pass(200, 10);
      const second = wait();
      await time.pass(200, 10);
      controller.abort();
      await Promise.all([first, second]);
    });
    await run;
    assert.deepEqual(kindsOf(findings), ["self", "self"]);
    const [one, two] = findings.map(({ calls }) => calls.map(({ id }) => id));
    assert.equal(one![0], two![0]); // the hold
    assert.notEqual(one![1], two![1]);
  }, { self: 100 }));

test("watchdog: waits of a deadlock are not reported once more as long ones, and others behind them are", () =>
  watched(async (findings, time) => {
    const lock = new Lock(), other = new Lock();
    const controller = new AbortController();
    const { signal } = controller;
    const run = lock.run(() => lock.acquire({ signal })).catch(() => {});
    const guard = await other.acquire();
    const waits = [lock, other].map((one) => one.acquire({ signal }).catch(() => {}));
    await time.pass(500, 10);
    controller.abort();
    await Promise.all([run, ...waits]);
    guard.release();
    assert.deepEqual(kindsOf(findings).sort(), ["held", "self", "waited"]);
  }, { self: 100, waited: 300, held: 300 }));

test("snapshot: a thing is forgotten with its last call, and known again with the next", async () => {
  using _ = new Recording();
  const lock = new Lock({ name: "orders" });
  for (let i = 0; i < 3; i++) {
    const guard = await lock.acquire();
    const waiting = lock.acquire();
    guard.release();
    assert.deepEqual(snapshot().map(({ holders, waiters }) => [holders.length, waiters.length]), [[1, 0]]);
    (await waiting).release();
    assert.deepEqual(snapshot(), []);
    assert.deepEqual([...hub.registry.groups.values()], []);
  }
});

test("watchdog: a run that waits for a run of a cycle is no cycle of its own", () =>
  watched(async (findings, time) => {
    const [a, b, c] = ["a", "b", "c"].map((name) => new Lock({ name })) as [Lock, Lock, Lock];
    const controller = new AbortController();
    const { signal } = controller;
    const nested = (outer: Lock, inner: Lock) =>
      outer.run(async () => {
        await flushMicrotasks();
        await inner.acquire({ signal });
      }).catch(() => {});
    const runs = [nested(a, b), nested(b, a), nested(c, a)];
    await time.pass(300, 10);
    controller.abort();
    await Promise.all(runs);
    assert.deepEqual(findings.map(({ kind, calls }) => [kind, calls.length]), [["cycle", 4]]);
  }, { self: 100 }));

test("observe: permits that are given back without a guard end the oldest holds, as many as they are", async () => {
  using recording = new Recording();
  const semaphore = new Semaphore(3);
  for (const permits of [1, 2]) await semaphore.acquire({ permits });
  semaphore.release(1);
  assert.deepEqual(recording.lines, ["grant semaphore", "grant semaphore", "release semaphore"]);
  semaphore.release(1); // the other one holds two
  assert.equal(recording.seen.length, 3);
  semaphore.release(2);
  assert.equal(recording.seen.length, 4);
  assert.deepEqual(snapshot(), []);
});

test("metrics: they begin with what is there, and count down once, however often they are disposed of", () => {
  using _ = new Recording(); // so that what is present stays known
  const lock = new Thing();
  lock.grant({});
  lock.wait({});
  const measurements = new Measurements();
  const present = () => ["holders", "waiters"].map((name) => measurements.values.get(`interlock.${name} lock`));
  assert.deepEqual(present(), [1, 1]);
  lock.wait({});
  assert.deepEqual(present(), [1, 2]);
  measurements[Symbol.dispose]();
  measurements[Symbol.dispose]();
  assert.deepEqual(present(), [0, 0]);
});

test("overdue: the one that is next decides when to look, and those that left are no news", () => {
  const overdue = new Overdue("waits", 100);
  const groupOf = (key: string): Group => ({ key, waits: new Set(), holds: new Set(), registry: hub.registry });
  const [group, other] = [groupOf("a"), groupOf("b")];
  const waits = (since: number, { waits }: Group) => {
    const acquisition = { since } as Acquisition;
    waits.add(acquisition);
    return acquisition;
  };
  const take = (due: number) => overdue.takeNew([group, other], due);
  const [a, b, c] = [waits(1, group), waits(2, group), waits(3, other)];
  assert.deepEqual(take(0), []);
  assert.equal(overdue.next, 101);
  group.waits.delete(a);
  assert.deepEqual(take(101), []);
  assert.equal(overdue.next, 102);
  assert.deepEqual(take(102), [b]);
  assert.deepEqual(take(200), [c]);
  assert.equal(overdue.next, Infinity);
  const later = waits(150, group);
  assert.deepEqual(take(300), []); // of a group that is too old already
  group.waits.delete(b);
  assert.deepEqual(take(301), []);
  group.waits.delete(later);
  const fresh = waits(400, group);
  assert.deepEqual(take(500), [fresh]); // the group has been short in between
});
