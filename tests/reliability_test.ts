/** docs/reliability.md names tests: they are there. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "./_test.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const page = read("docs/reliability.md");

/** Every test that the page names, with its file; a file named without a test stands for all of them. */
const named = [...page.replace(/\s+/g, " ").matchAll(/`(tests\/[\w/]+\.ts)`((?:,? "[^"]+")*)/g)].flatMap(
  ([, file, names]) => {
    const each = [...names!.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
    return each.length === 0 ? [[file!, ""] as const] : each.map((name) => [file!, name] as const);
  },
);

test("reliability: every test that is named exists", () => {
  const missing = named.filter(([file, name]) => !read(file).includes(name));
  assert.deepEqual(missing, []);
  assert.ok(named.length > 40, `${named.length}`);
});

test("reliability: every promise names a test", () => {
  const rows = page.split("## Not promised")[0]!.split(/\n(?=- \*\*|\n)/).filter((item) => item.startsWith("- **"));
  assert.ok(rows.length > 20, `${rows.length}`);
  assert.deepEqual(rows.filter((row) => !row.includes("`tests/")), []);
});
