/** The size of imports in a page: within the limits, and without code that was not imported. */
import assert from "node:assert/strict";
import { LIMITS, size } from "../scripts/size.ts";
import { test } from "./_test.ts";

// Here and not in a test: the first call starts esbuild, which takes a port that it keeps.
const nothing = size("{}");

for (const [imports, limit] of Object.entries(LIMITS)) {
  test(`size: import ${imports} stays under ${limit} bytes`, () => {
    const bytes = size(imports);
    assert.ok(bytes <= limit, `${bytes} bytes`);
  });
}

test("size: a bundler drops what is not imported", () => {
  const all = size("*");
  for (const one of ["{ Lock }", "{ Event }", "{ Barrier }", "{ SyncError }"]) {
    assert.ok(size(one) < all / 2, `${one}: ${size(one)} of ${all} bytes`);
  }
  assert.ok(nothing < 50, "an import of nothing costs nothing");
});
