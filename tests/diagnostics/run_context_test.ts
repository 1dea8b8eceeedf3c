import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { Lock } from "../../mod.ts";
import { watchdog } from "../../lib/diagnostics/mod.ts";
import { currentRun } from "../../lib/diagnostics/run_context.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";

/** How many runs the present code is part of. */
function depth(): number {
  let count = 0;
  for (let run = currentRun(); run !== undefined; run = run.parent) count++;
  return count;
}

test("runContext: work that outlives the run that started it makes no chain", async () => {
  using _ = watchdog({ report() {} });
  const locks = [new Lock(), new Lock()];
  let deepest = 0;
  // Each run starts the next one, of the other lock, while it holds; and ends when that one has begun.
  const step = async (n: number): Promise<void> => {
    if (n === 0) return;
    let next: Promise<void> | undefined;
    await locks[n % 2]!.run(async () => {
      deepest = Math.max(deepest, depth());
      next = step(n - 1);
      await flushMicrotasks();
    });
    await next;
  };
  await step(200);
  assert.ok(deepest <= 4, `${deepest}`);
});

test("runContext: a run keeps the program's own AsyncLocalStorage", async () => {
  const storage = new AsyncLocalStorage<string>();
  using _ = watchdog({ report() {} });
  const seen = await storage.run("request 7", () =>
    new Lock().run(async () => {
      await Promise.resolve();
      return storage.getStore();
    }));
  assert.equal(seen, "request 7");
  assert.equal(storage.getStore(), undefined);
});
