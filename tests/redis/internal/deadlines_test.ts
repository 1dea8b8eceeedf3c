/** Many moments and one timer. */
import assert from "node:assert/strict";
import { Deadlines } from "../../../lib/redis/internal/deadlines.ts";
import { test } from "../../_test.ts";
import { withFakeTime } from "../../_tools.ts";

test("Deadlines: each ends at its moment, those that were deleted never, with one timer for all", () =>
  withFakeTime((time) => {
    const deadlines = new Deadlines();
    const ended: string[] = [];
    const start = performance.now();
    const add = (name: string, ms: number) => {
      const end = () => void ended.push(name);
      deadlines.add(start + ms, end);
      return end;
    };
    add("c", 300);
    const deleted = add("deleted", 200);
    add("a", 100);
    add("b", 200);
    assert.equal(time.timers, 1);
    deadlines.delete(deleted);
    time.advance(99);
    assert.deepEqual(ended, []);
    time.advance(1);
    assert.deepEqual(ended, ["a"]);
    time.advance(1000);
    assert.deepEqual(ended, ["a", "b", "c"]);
    assert.equal(time.timers, 0);
    return Promise.resolve();
  }));

test("Deadlines: no timer is left once the last one is deleted, and one that ends may add another", () =>
  withFakeTime((time) => {
    const deadlines = new Deadlines();
    const start = performance.now();
    const never = () => assert.fail("ended");
    deadlines.add(start + 10, never);
    deadlines.delete(never);
    deadlines.delete(never);
    assert.equal(time.timers, 0);
    let again = 0;
    deadlines.add(start + 10, () => deadlines.add(start + 20, () => again++));
    time.advance(10);
    assert.equal(again, 0);
    time.advance(10);
    assert.deepEqual([again, time.timers], [1, 0]);
    return Promise.resolve();
  }));
