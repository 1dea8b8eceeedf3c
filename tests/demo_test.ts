/** The demo as a program: its output without a terminal, and its answers to wrong names. */
import assert from "node:assert/strict";
import process from "node:process";
import { Stage } from "../examples/demo/lanes.ts";
import { taskCommand } from "../examples/shared/task_command.ts";
import { runProgram } from "./_program.ts";
import { runtime, test } from "./_test.ts";

const demo = (...args: string[]) => runProgram(new URL("../examples/demo/main.ts", import.meta.url), args);

test("demo: orders of two users wait for each other behind one lock only", async () => {
  const { code, out, err } = await demo("orders");
  assert.equal(code, 0, err);
  assert.equal(out.includes("\x1b"), false, "no escape codes without a terminal");
  assert.match(out, /order 101 +holds/);
  assert.match(out, /orders of two users +[\d.]+ s, 1 at a time +[\d.]+ s, 2 at a time/);
  assert.match(out, /10000 locks kept +0 entries left/);
});

test("demo: a scenario by name ends with its row", async () => {
  const { code, out } = await demo("semaphore", "lock");
  assert.equal(code, 0);
  assert.match(out, /semaphore +9 at once +3 at once/);
  assert.match(out, /lock +10 of 20 read their value +20 of 20/);
  assert.equal(out.includes("order 101"), false);
});

test("demo: --help lists the scenarios, and so does the error for a wrong name", async () => {
  const help = await demo("--help");
  assert.equal(help.code, 0);
  for (const name of ["orders", "lock", "timeout_lock", "barrier"]) assert.ok(help.out.includes(name));
  const wrong = await demo("lok");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /no scenario lok.*orders, lock, timeout_lock/);
});

for (const [columns, rows] of [[80, 24], [30, 24], [12, 24], [80, 6]] as const) {
  test(`demo: lanes stay inside a terminal of ${columns} by ${rows}`, async () => {
    const written: string[] = [];
    const stage = new Stage(true, (text) => written.push(text), () => ({ columns, rows }));
    const names = Array.from({ length: 11 }, (_, i) => `connection ${i}`);
    await stage.picture(names, (lanes) => {
      for (const lane of lanes) for (let i = 0; i < 200; i++) lane.frames.push("waits");
      lanes[0]!.is("holds");
      return Promise.resolve();
    });
    const pictures = written.filter((text) => text.includes("con"));
    assert.ok(pictures.length >= 2);
    // deno-lint-ignore no-control-regex
    for (const picture of pictures.map((text) => text.replace(/\x1b\[[?\d]*[A-Za-z]/g, "").trimEnd().split("\n"))) {
      assert.ok(picture.length < rows, `${picture.length} lines in ${rows} rows`);
      for (const line of picture) assert.ok(line.length <= columns, `${line.length} in ${columns}: ${line}`);
    }
    assert.ok(written[0]!.includes("\x1b[?25l"), "the cursor is hidden");
    assert.equal(written.at(-1), "\x1b[?25h", "and comes back");
  });
}

test("demo: a terminal of 0 columns and rows counts as one of 80 by 24", async () => {
  const { stdout } = process;
  const before = ["columns", "rows"].map((name) => [name, Object.getOwnPropertyDescriptor(stdout, name)] as const);
  for (const [name] of before) Object.defineProperty(stdout, name, { value: 0, configurable: true });
  try {
    const written: string[] = [];
    const stage = new Stage(true, (text) => written.push(text));
    await stage.picture(["task 1"], ([lane]) => Promise.resolve(lane!.is("holds")));
    assert.equal(stage.columns, 80);
    assert.match(written.join(""), /task 1/);
  } finally {
    for (const [name, one] of before) {
      if (one === undefined) Reflect.deleteProperty(stdout, name);
      else Object.defineProperty(stdout, name, one);
    }
  }
});

test("demo: it names commands that the reader can type", () => {
  const npx = taskCommand("test", { npm_lifecycle_event: "npx" });
  assert.equal(npx, runtime === "deno" ? `npx --yes deno@${process.versions["deno"]} task test` : "deno task test");
  assert.equal(taskCommand("test", {}), "deno task test");
});
