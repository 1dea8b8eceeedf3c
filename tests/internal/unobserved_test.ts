/** Who is asked about unobserved failures when the process runs out of work. */
import assert from "node:assert/strict";
import process from "node:process";
import { askAtExit, type Failing, forgetAtExit } from "../../lib/internal/unobserved.ts";
import { test } from "../_test.ts";

test("at the exit, at most 1,000 pools and groups are asked, and none keeps its listener", () => {
  const before = process.listeners("beforeExit");
  let exits = 0;
  const failing: Failing[] = Array.from({ length: 1010 }, () => ({
    title: "a pool",
    isJoined: false,
    onExit: () => exits++,
  }));
  for (const each of failing) askAtExit(each);
  const [ask, ...others] = process.listeners("beforeExit").filter((listener) => !before.includes(listener));
  assert.deepEqual(others, []);
  ask!(0);
  assert.equal(exits, 1000);
  for (const each of failing) forgetAtExit(each);
  assert.deepEqual(process.listeners("beforeExit"), before);
});
