/** Every schedule of small programs, up to a bound that keeps it short; `deno task explore` goes further. */
import assert from "node:assert/strict";
import { Lock } from "../../mod.ts";
import { deeply } from "../_random.ts";
import { test } from "../_test.ts";
import { broken } from "./broken/mod.ts";
import { programs, threeWant } from "./programs.ts";
import { search, tell } from "./_search.ts";

/** All broken variants show within 250 schedules. */
const BOUND = deeply(250, 1000);

for (const program of programs) {
  test(`explore: ${program.name}`, async () => {
    const { schedules, violation } = await search(program, BOUND);
    assert.equal(violation && await tell(program, violation.schedule), undefined);
    assert.ok(schedules >= 15, `${schedules} schedules`);
  });
}

for (const { program, complaint } of broken) {
  test(`explore: finds what is ${program.name}, and shows how`, async () => {
    const { violation } = await search(program, BOUND);
    assert.ok(violation, "not found");
    assert.match(violation.message, complaint);
    const text = await tell(program, violation.schedule);
    console.log(text);
    assert.match(text, /^broken: .*\n {3}1 {2}[A-E] \w+ .*: ([A-E] holds|no holder, [A-E] waiting)/);
    assert.ok(text.includes(`violation of ${violation.message}`), text);
    // The printed schedule can be run again, and goes wrong again.
    const replay = text.slice(text.indexOf("replay: ") + 8).split(",");
    assert.deepEqual(replay, violation.schedule);
  });
}

test("explore: equal situations are left only where all that follows is the same", async () => {
  // By hand: two tasks with two steps each on things of their own have 6 orders, all of them the same.
  const program = {
    name: "two apart",
    make: () => ({
      one: threeWant("", () => new Lock()).make().lock!,
      two: threeWant("", () => new Lock()).make().lock!,
    }),
    tasks: {
      A: threeWant("", () => new Lock()).tasks.A!.slice(1, 2),
      B: threeWant("", () => new Lock()).tasks.B!.slice(1, 2),
    },
  };
  assert.deepEqual(await search(program), { schedules: 1, pruned: 1, cut: false });
});

test("explore: a schedule that cannot be is refused with what could be", async () => {
  await assert.rejects(tell(programs[0]!, ["A", "D"]), /step 2 cannot be "D": it can be ~, B, C, abort B/);
});
