/** Objects that come and go by the thousand. */
import assert from "node:assert/strict";
import { Members } from "../../../lib/redis/store/members.ts";
import { test } from "../../_test.ts";

test("Members: whichever member goes, the others stay, and can go as well", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name, index: -1 }));
  for (const order of [[a, b, c], [b, a, c], [c, b, a], [b, c, a]]) {
    const members = new Members<{ name: string; index: number }>();
    for (const member of [a, b, c]) members.add(member!);
    members.add(b!); // again
    const left = new Set([a, b, c]);
    for (const member of order) {
      assert.equal(members.delete(member!), true);
      assert.equal(members.delete(member!), false);
      left.delete(member);
      assert.deepEqual(new Set(members.all()), left);
      assert.equal(members.size, left.size);
      assert.deepEqual([a, b, c].map((one) => members.has(one!)), [a, b, c].map((one) => left.has(one)));
    }
  }
});
