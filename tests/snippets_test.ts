/** The machinery of docs_test.ts can fail: planted mistakes are found. */
import assert from "node:assert/strict";
import { brokenPromises, instrumented, mapped, runs, type Snippet, snippetsOf } from "./_snippets.ts";
import { test } from "./_test.ts";

function snippet(code: string, info = "ts"): Snippet {
  return { name: "a.md:10", file: "a.md", line: 10, info, code };
}

test("snippets are found in doc comments and Markdown, with their lines", () => {
  const doc = "/**\n * Text.\n *\n * ```ts\n * let a;\n *\n *   a++;\n * ```\n */\nconst b = `\n```ts\nno\n```\n`;";
  assert.deepEqual(snippetsOf("x.ts", doc), [{
    name: "x.ts:5",
    file: "x.ts",
    line: 5,
    info: "ts",
    code: "let a;\n\n  a++;",
  }]);
  const markdown = "```sh\nls\n```\n\n- in a list\n  ```ts\n  let a;\n  ```\n";
  assert.deepEqual(snippetsOf("x.md", markdown).map(({ name, info }) => [name, info]), [["x.md:2", "sh"], [
    "x.md:7",
    "ts",
  ]]);
});

test("a block without an end is an error", () => {
  assert.throws(() => snippetsOf("x.md", "```ts\nlet a;\n"), /no end/);
});

test("code can't be excepted in its fence", () => {
  assert.equal(runs(snippet("", "ts")), true);
  assert.equal(runs(snippet("", "sh")), false);
  for (const info of ["ts ignore", "typescript", "js", "ts no-eval"]) {
    assert.throws(() => runs(snippet("", info)), /a\.md:10/);
  }
});

test("a snippet imports this tree, and its lines stay where they are", () => {
  const seen: string[] = [];
  const code = mapped(
    snippet('import { Lock } from "@interlock/interlock";\nimport "@interlock/interlock/redis";'),
    (one) => {
      seen.push(one);
      return "file:///tree";
    },
  );
  assert.deepEqual(seen, ["@interlock/interlock", "@interlock/interlock/redis"]);
  assert.deepEqual(code.split("\n").slice(9, 11), ['import { Lock } from "file:///tree";', 'import "file:///tree";']);
  assert.match(instrumented("a", "\nconsole.log(1);", "hook"), /^.*\nglobalThis\.hook\("a", 2, 1\);$/);
});

test("what is printed has to be what the comment says", () => {
  const one = snippet("console.log(a); // 3");
  assert.deepEqual(brokenPromises(one, [[10, "3"]]), []);
  assert.equal(brokenPromises(one, [[10, "4"]]).length, 1);
  assert.equal(brokenPromises(one, [[11, "3"]]).length, 1, "another line's output");
  assert.equal(brokenPromises(one, []).length, 1, "never reached");
  assert.equal(brokenPromises(one, [[10, "3"], [10, "3"]]).length, 1, "reached twice");
  const whole = snippet("console.log(a);\n// Prints:\n// 1\n// 2\n");
  assert.deepEqual(brokenPromises(whole, [[10, "1"], [10, "2"]]), []);
  assert.equal(brokenPromises(whole, [[10, "2"], [10, "1"]]).length, 1, "another order");
});

test("a remark in parentheses may follow, and several prints are joined", () => {
  const remark = snippet("console.log(a); // 3 (one was taken)");
  assert.deepEqual(brokenPromises(remark, [[10, "3"]]), []);
  assert.deepEqual(brokenPromises(remark, [[10, "3 (one was taken)"]]), []);
  assert.equal(brokenPromises(remark, [[10, "4"]]).length, 1);
  assert.equal(brokenPromises(snippet("console.log(); // (nothing)"), []).length, 1);
  assert.deepEqual(brokenPromises(snippet("console.log(a); // 1, then 2"), [[10, "1"], [10, "2"]]), []);
  assert.equal(brokenPromises(snippet("console.log(a); // 1, then 2"), [[10, "2"], [10, "1"]]).length, 1);
});

test("other comments promise nothing", () => {
  assert.deepEqual(brokenPromises(snippet("await a; // 3\n// console\nconsole.log(b);"), [[12, "1"]]), []);
});
