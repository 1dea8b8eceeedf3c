/** A short soak, and whether the slope would show a leak; `deno task soak` runs for long. */
import assert from "node:assert/strict";
import { seeded } from "../_tools.ts";
import { test } from "../_test.ts";
import { Series } from "../soak/_slope.ts";
import { soak } from "../soak/_soak.ts";

test("soak: two seconds of everything together", () =>
  seeded(async (random) => {
    // The slopes of two seconds say nothing: a machine that pauses makes one.
    const { errors, left } = await soak(2, random);
    assert.deepEqual(errors, []);
    assert.deepEqual(left, []);
  }));

test("soak: what grows is seen, what swings is not", () => {
  const series = (value: (i: number) => number): Series => {
    const one = new Series("x", 4);
    for (let i = 0; i < 100; i++) one.add(i * 0.6, value(i));
    return one;
  };
  const leak = series((i) => 20 + i / 10);
  assert.ok(Math.abs(leak.perMinute - 10 * 100 / 100) < 0.2, `${leak.perMinute}`);
  assert.equal(leak.grows, true);
  assert.equal(series((i) => 20 + 3 * Math.sin(i)).grows, false);
  assert.equal(series(() => 20).growth, 0);
});
