/** Uses a call as its row says. */
import assert from "node:assert/strict";
import type { Call } from "./kind.ts";

/**
 * Three calls wait: the middle one is aborted, the last one runs out of time, and the first one is let go. Three more: the
 * middle one is aborted in the step in which they are let go.
 */
export async function exercise(call: Call): Promise<void> {
  if (call.block === undefined) return void await call.wait();
  await whileTheyWait(call.wait, call.block);
  await asTheyGo(call.wait, call.block);
}

type Part<K extends keyof Call> = NonNullable<Call[K]>;

async function whileTheyWait(wait: Part<"wait">, block: Part<"block">): Promise<void> {
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

async function asTheyGo(wait: Part<"wait">, block: Part<"block">): Promise<void> {
  const unblock = await block();
  const controller = new AbortController();
  const calls = [wait(), wait({ signal: controller.signal }), wait()];
  const unblocked = unblock();
  controller.abort();
  const [, middle] = await Promise.allSettled(calls);
  if (middle!.status === "rejected") assert.equal(middle!.reason.name, "AbortError");
  await Promise.all([unblocked, calls[0], calls[2]]);
}
