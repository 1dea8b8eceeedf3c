/** Uses a call as its row says. */
import assert from "node:assert/strict";
import type { Call } from "./kind.ts";

/** Three calls wait: the middle one is aborted, the last one runs out of time, and the first one is let go. */
export async function exercise({ wait, block }: Call): Promise<void> {
  if (block === undefined) return void await wait();
  const unblock = await block();
  const controller = new AbortController();
  const first = wait();
  const others = [wait({ signal: controller.signal }), wait({ timeout: 1 })];
  controller.abort();
  const names = await Promise.all(others.map((call) => call.then(() => "", ({ name }: Error) => name)));
  assert.deepEqual(names, ["AbortError", "TimeoutError"]);
  await unblock();
  await first;
}
