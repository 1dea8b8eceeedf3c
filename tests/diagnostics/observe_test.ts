import assert from "node:assert/strict";
import { hook } from "../../lib/internal/hook.ts";
import { observe, type Observer } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { withFakeTime } from "../_tools.ts";
import { Recording, Thing } from "./_tools.ts";

test("observe: the hook is set exactly while an observer is on", () => {
  assert.equal(hook, undefined);
  const one = observe({}), other = observe({});
  assert.notEqual(hook, undefined);
  one[Symbol.dispose]();
  assert.notEqual(hook, undefined);
  other[Symbol.dispose]();
  other[Symbol.dispose]();
  assert.equal(hook, undefined);
});

test("observe: the events of one acquisition share an id and carry their times", () =>
  withFakeTime(async (time) => {
    using recording = new Recording();
    const lock = new Thing("key", "users", 42), first = {}, second = {}, third = {};
    lock.grant(first);
    time.advance(5);
    lock.wait(second);
    lock.wait(third, 3);
    time.advance(10);
    lock.timeOut(third);
    lock.release(first);
    lock.grant(second);
    time.advance(7);
    lock.release(second);
    await Promise.resolve();
    const about = { kind: "key", name: "users", key: 42 };
    assert.deepEqual(
      recording.seen,
      [
        { ...about, id: 1, permits: 1, at: 0, waited: 0, event: "grant" },
        { ...about, id: 2, permits: 1, at: 5, event: "wait" },
        { ...about, id: 3, permits: 3, at: 5, event: "wait" },
        { ...about, id: 3, permits: 3, at: 15, waited: 10, outcome: "timeout", event: "giveUp" },
        { ...about, id: 1, permits: 1, at: 15, held: 15, event: "release" },
        { ...about, id: 2, permits: 1, at: 15, waited: 10, event: "grant" },
        { ...about, id: 2, permits: 1, at: 22, held: 7, event: "release" },
      ].map((seen) => ({ ...seen, id: seen.id - 1 + recording.seen[0]!.id })),
    );
  }));

test("observe: later changes of the observer have no effect, and events cannot be changed", () => {
  let count = 0;
  const observer: Observer = { grant: () => void count++ };
  using _ = observe(observer);
  observer.grant = () => assert.fail("read again");
  using _other = observe({ grant: (event) => assert.throws(() => Object.assign(event, { kind: "x" }), TypeError) });
  new Thing().grant({});
  assert.equal(count, 1);
});

test("observe: disposing of observers during an event is safe, and takes effect at once", () => {
  const calls: string[] = [];
  const observing: Disposable[] = [];
  for (const name of ["first", "second", "third"]) {
    observing.push(observe({
      grant() {
        calls.push(name);
        if (name === "second") { for (const one of observing) one[Symbol.dispose](); }
      },
    }));
  }
  const lock = new Thing();
  lock.grant({});
  lock.grant({});
  assert.deepEqual(calls, ["first", "second"]);
  assert.equal(hook, undefined);
});

test("observe: an observer that is added during an event sees the next one first", () => {
  const late: number[] = [];
  const added: Disposable[] = [];
  using _ = observe({ grant: () => void added.push(observe({ grant: ({ permits }) => void late.push(permits) })) });
  const lock = new Thing();
  lock.grant({}, 1);
  lock.grant({}, 2);
  for (const one of added) one[Symbol.dispose]();
  assert.deepEqual(late, [2]);
});

test("observe: every observer sees the events in one order, also those that an observer causes", () => {
  const lock = new Thing("lock", "outer"), inner = new Thing("lock", "inner");
  using first = new Recording();
  using _ = observe({ grant: ({ name }) => name === "outer" ? inner.grant({}) : undefined });
  using last = new Recording();
  lock.grant({});
  assert.deepEqual(last.lines, ["grant lock outer", "grant lock inner"]);
  assert.deepEqual(first.lines, last.lines);
});

test("observe: wrong observers are refused", () => {
  for (const wrong of [undefined, null, 5, "wait", () => {}]) {
    assert.throws(() => observe(wrong as never), { name: "TypeError", message: /^observer must be an object, got / });
  }
  for (const name of ["wait", "grant", "giveUp", "release"]) {
    const expected = { name: "TypeError", message: `observer.${name} must be a function, got 5` };
    assert.throws(() => observe({ [name]: 5 }), expected);
  }
  assert.throws(() => observe({ onGrant() {} } as never), {
    name: "TypeError",
    message: /^observer must have wait, grant, giveUp, release or no member at all, got /,
  });
  assert.equal(hook, undefined);
});

test("observe: what an observer throws becomes an uncaught error and reaches nothing else", () => {
  const uncaught: (() => void)[] = [];
  const { queueMicrotask } = globalThis;
  globalThis.queueMicrotask = (fn) => void uncaught.push(fn);
  try {
    using _throwing = observe({ grant: () => assert.fail("thrown by an observer") });
    using other = new Recording();
    new Thing().grant({});
    assert.deepEqual(other.lines, ["grant lock"]);
  } finally {
    globalThis.queueMicrotask = queueMicrotask;
  }
  assert.equal(uncaught.length, 1);
  assert.throws(uncaught[0]!, /thrown by an observer/);
});
