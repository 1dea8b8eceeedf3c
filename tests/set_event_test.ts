/** SetEvent: the tie between the set and the event cannot be broken. */
import assert from "node:assert/strict";
import { SetEvent, TimeoutError } from "../mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, states, watch } from "./_tools.ts";

test("SetEvent: a new one is open, one with members is not", async () => {
  const empty = new SetEvent<string>();
  assert.deepEqual([empty.isSet, empty.size], [true, 0]);
  await empty.wait({ timeout: 0 });
  const full = new SetEvent(["a", "b", "a"]);
  assert.deepEqual([full.isSet, full.size, full.has("a"), full.has("c")], [false, 2, true, false]);
  assert.deepEqual([...full], ["a", "b"]);
  await assert.rejects(full.wait({ timeout: 0 }), TimeoutError);
  assert.equal("set" in full, false);
  assert.equal("clear" in full, false);
});

test("SetEvent: opens with the last member's removal, and reports whether it was one", async () => {
  const set = new SetEvent<number>([1]);
  set.add(2).add(2);
  assert.equal(set.size, 2);
  const waiters = [set.wait(), set.wait()].map(watch);
  assert.equal(set.delete(7), false);
  assert.equal(set.delete(1), true);
  assert.equal(set.delete(1), false);
  assert.equal(await states(waiters), "pending pending");
  assert.equal(set.waiting, 2);
  assert.equal(set.delete(2), true);
  assert.equal(set.waiting, 0);
  assert.equal(await states(waiters), "fulfilled fulfilled");
});

test("SetEvent: undefined and NaN are members like others", () => {
  const set = new SetEvent<unknown>([undefined, NaN]);
  assert.equal(set.size, 2);
  assert.equal(set.delete(NaN), true);
  assert.equal(set.isSet, false);
  assert.equal(set.delete(undefined), true);
  assert.equal(set.isSet, true);
});

test("SetEvent: track keeps a promise until it settles, either way, and returns it", async () => {
  const set = new SetEvent<Promise<unknown>>();
  let finish = () => {}, fail = (_: Error) => {};
  const fine = new Promise<void>((resolve) => finish = resolve);
  const failing = new Promise<void>((_, reject) => fail = reject);
  assert.equal(set.track(fine), fine);
  assert.equal(set.track(failing), failing);
  assert.equal(set.track(fine), fine);
  assert.equal(set.size, 2);
  const empty = watch(set.wait());
  finish();
  assert.equal(await states([empty]), "pending");
  fail(new Error("broken connection"));
  await assert.rejects(failing, /broken connection/);
  assert.equal(await states([empty]), "fulfilled");
  for (const wrong of [undefined, null, 5, {}, () => {}]) {
    assert.throws(() => set.track(wrong as never), /^TypeError: promise must be a promise, got /);
  }
  assert.equal(set.size, 0);
});

test("SetEvent: members must be iterable", () => {
  for (const wrong of [null, 5, {}]) assert.throws(() => new SetEvent(wrong as never), TypeError);
  assert.equal(new SetEvent(undefined).size, 0);
});

test("SetEvent: a promise with a broken then leaves no member behind", async () => {
  const error = new Error("broken");
  const own = (properties: PropertyDescriptorMap) => Object.defineProperties(Promise.resolve(), properties);
  const throws = {
    get(): never {
      throw error;
    },
  };
  class Sub extends Promise<void> {
    override then(): never {
      throw error;
    }
  }
  let reads = 0;
  const broken: Record<string, () => unknown> = {
    "a then that throws": () => own({ then: { value: () => assert.fail("broken") } }),
    "a then that never calls back": () => own({ then: { value: () => {} } }),
    "a then that calls back at once": () => own({ then: { value: (done: () => void) => done() } }),
    "a then that cannot be read": () => own({ then: throws }),
    "a constructor that cannot be read": () => own({ constructor: throws }),
    "a constructor without promises": () => own({ constructor: { value: { [Symbol.species]: () => {} } } }),
    "a subclass that throws": () => new Sub(() => {}),
    "a thenable that throws": () => ({ then: () => assert.fail("broken") }),
    "a thenable that is one only at first": () => ({
      get then() {
        return reads++ === 0 ? () => {} : undefined;
      },
    }),
  };
  for (const [name, make] of Object.entries(broken)) {
    const set = new SetEvent<unknown>(["other"]);
    const promise = make() as Promise<void>;
    try {
      set.track(promise);
    } catch {
      assert.deepEqual([...set], ["other"], name);
    }
    await flushMicrotasks();
    assert.deepEqual([...set], ["other"], name);
    set.delete("other");
    await set.wait({ timeout: 0 });
  }
});

test("SetEvent: a failed track does not remove a member that was tracked before", async () => {
  const set = new SetEvent<Promise<void>>();
  let finish = () => {};
  const promise = new Promise<void>((resolve) => finish = resolve);
  set.track(promise);
  Object.defineProperty(promise, "constructor", { get: () => assert.fail("broken") });
  assert.throws(() => set.track(promise));
  assert.equal(set.size, 1);
  finish();
  await flushMicrotasks();
  assert.equal(set.size, 0);
});
