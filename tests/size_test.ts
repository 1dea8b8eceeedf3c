/** The size of imports in a page: within the limits, and without code that was not imported. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { bundle, excess, LIMITS, size } from "../scripts/size.ts";
import { test } from "./_test.ts";

// Here and not in a test: the first call starts esbuild, which takes a port that it keeps.
const nothing = size("{}");

for (const [imports, limit] of Object.entries(LIMITS)) {
  test(`size: import ${imports} stays under ${limit} bytes`, () => {
    assert.equal(excess(imports, size(imports)), undefined);
  });
}

test("size: a bundler drops what is not imported", () => {
  const all = size("*");
  for (const one of ["{ Lock }", "{ Event }", "{ Barrier }", "{ SyncError }"]) {
    assert.ok(size(one) < all / 2, `${one}: ${size(one)} of ${all} bytes`);
  }
  assert.ok(nothing < 50, "an import of nothing costs nothing");
});

test("size: checks that only tests make are in no bundle", () => {
  const text = new TextDecoder().decode(bundle("*"));
  assert.match(text, /Cannot /);
  assert.doesNotMatch(text, /unsound/);
});

test("size: the README names bounds that hold", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8").replace(/\s+/g, " ");
  const [, lock, all] = /only `Lock` is under (\d+) kB.* whole main entry.* is under (\d+) kB/.exec(readme)!;
  const sizes = [size("{ Lock }"), size("*")].map((bytes) => Math.ceil((bytes + 1) / 1000));
  assert.ok(
    sizes[0]! <= Number(lock) && sizes[1]! <= Number(all),
    `README.md has to say that only \`Lock\` is under ${sizes[0]} kB, and the whole main entry under ${sizes[1]} kB`,
  );
});
