/** Only for the browser: importing everything, the parts for servers too, does no harm there. */
import assert from "node:assert/strict";
import * as module from "../../mod.ts";
import { test } from "../_test.ts";

const names = Object.keys(globalThis);

test("browser: it is one", () => {
  assert.ok("document" in globalThis);
  assert.ok(!("process" in globalThis) && !("Deno" in globalThis) && !("Bun" in globalThis));
});

test("browser: importing everything adds no global, and every export is there", () => {
  assert.deepEqual(names.filter((name) => /interlock|lock|shutdown/i.test(name) && name !== "locks"), []);
  for (const [name, value] of Object.entries(module)) assert.equal(typeof value, "function", name);
});

test("browser: GracefulShutdown works where there are no signals of an operating system", async () => {
  // deno-lint-ignore no-explicit-any -- which entry points there are depends on the build
  const { GracefulShutdown } = module as any;
  if (GracefulShutdown === undefined) return;
  const shutdown = new GracefulShutdown({ grace: 1000 });
  const answer = await shutdown.handler(() => new Response("hello"))(new Request("http://localhost/"));
  assert.equal(await answer.text(), "hello");
  shutdown.request("over");
  const report = await shutdown.finished;
  assert.deepEqual([report.drained, shutdown.signal.aborted], [true, true]);
});
