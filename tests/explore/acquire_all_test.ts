/** Every schedule of calls that hold several locks at once, up to a bound. */
import assert from "node:assert/strict";
import { deeply } from "../_random.ts";
import { test } from "../_test.ts";
import { allThree, inListOrder, neighbours, ordered, programsOf } from "./acquire_all.ts";
import { type Found, search, tell } from "./_search.ts";
import type { Program } from "./_world.ts";

/** Every tenth in the everyday tests. */
const lists = [...allThree, ...neighbours].filter((_, i) => i % deeply(10, 1) === 0);

test("explore: acquireAll never deadlocks, in whatever order three tasks list three locks", async () => {
  // In the order of the lists, most of these deadlock within 100 schedules.
  for (const program of [...ordered(lists, []), ...ordered(lists, ["B"])]) await neverFails(program, 100);
});

test("explore: acquireAll never deadlocks in any schedule of three lists in a circle", async () => {
  for (const program of ordered(deeply([neighbours[0]!], [allThree[22]!, neighbours[0]!]), [])) {
    assert.equal((await neverFails(program, Infinity)).cut, false);
  }
});

async function neverFails(program: Program, bound: number): Promise<Found> {
  const found = await search(program, bound);
  assert.equal(found.violation && await tell(program, found.violation.schedule), undefined);
  assert.ok(found.schedules > 10, `${found.schedules} schedules of ${program.name}`);
  return found;
}

test("explore: acquiring in the order of the list deadlocks, and is found to", async () => {
  for (const each of lists) {
    const [program] = programsOf(inListOrder, [each], []);
    const { violation } = await search(program!, 2000);
    // With one first lock for all, that lock alone is waited for; neighbours deadlock where they form a circle.
    const cyclic = each[0].length === 3
      ? new Set(each.map(([first]) => first)).size > 1
      : [["x,y", "y,z", "z,x"], ["y,x", "z,y", "x,z"]].some((circle) => String(circle) === String(each.map(String)));
    if (cyclic) assert.match(violation!.message, /^deadlock: . and ./, program!.name);
    else assert.equal(violation, undefined, program!.name);
  }
});
