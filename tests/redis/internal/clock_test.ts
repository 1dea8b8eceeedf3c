/** Timers that are due at the same moment. */
import assert from "node:assert/strict";
import { now, Timer } from "../../../lib/redis/internal/clock.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks, withFakeTime } from "../../_tools.ts";

test("Timer: cleared or set again by another one of the same moment, it does not fire", () =>
  withFakeTime(async (time) => {
    const fired: string[] = [];
    const first = new Timer(() => {
      fired.push("first");
      cleared.clear();
      later.set(now() + 5);
    });
    const cleared = new Timer(() => fired.push("cleared"));
    const later = new Timer(() => fired.push("later"));
    for (const timer of [first, cleared, later]) timer.set(now() + 10);
    time.advance(10);
    await flushMicrotasks();
    assert.deepEqual(fired, ["first"]);
    time.advance(5);
    assert.deepEqual(fired, ["first", "later"]);
  }));
