/** Every schedule of calls that hold several locks at once, up to a bound. */
import assert from "node:assert/strict";
import { test } from "../_test.ts";
import { allThree, inListOrder, neighbours, ordered, programsOf } from "./acquire_all.ts";
import { search, tell } from "./_search.ts";

test("explore: acquireAll never deadlocks, in whatever order three tasks list three locks", async () => {
  for (const program of ordered([...allThree, ...neighbours])) {
    const { schedules, violation } = await search(program, 150);
    assert.equal(violation && await tell(program, violation.schedule), undefined);
    assert.ok(schedules > 10, `${schedules} schedules of ${program.name}`);
  }
});

test("explore: acquiring in the order of the list deadlocks, and is found to", async () => {
  for (const lists of [...allThree, ...neighbours]) {
    const [program] = programsOf(inListOrder, [lists], []);
    const { violation } = await search(program!, 5000);
    // With one first lock for all, that lock alone is waited for; neighbours deadlock where they form a circle.
    const cyclic = lists[0].length === 3
      ? new Set(lists.map(([first]) => first)).size > 1
      : [["x,y", "y,z", "z,x"], ["y,x", "z,y", "x,z"]].some((circle) => String(circle) === String(lists.map(String)));
    if (cyclic) assert.match(violation!.message, /^deadlock: . and ./, program!.name);
    else assert.equal(violation, undefined, program!.name);
  }
});
