/** Errors: one family, each with its name, its cause and a stack that begins with the name. */
import assert from "node:assert/strict";
import * as module from "../mod.ts";
import { SyncError } from "../mod.ts";
import { test } from "./_test.ts";

test("errors: all extend SyncError, and carry name, message and cause", () => {
  const names = [
    "SyncError",
    "TimeoutError",
    "NotHeldError",
    "ClosedError",
    "BrokenBarrierError",
    "LeaseLostError",
  ] as const;
  for (const name of names) {
    const cause = new Error("below");
    const error = new module[name]("Cannot do it: it is shut", { cause });
    assert.ok(error instanceof SyncError && error instanceof Error);
    assert.deepEqual([error.name, error.message, error.cause], [name, "Cannot do it: it is shut", cause]);
    assert.equal(String(error), `${name}: Cannot do it: it is shut`);
    assert.ok(error.stack!.includes("errors_test"), error.stack);
    assert.equal(Object.keys(error).includes("name"), false);
    assert.equal(new module[name]("x").cause, undefined);
  }
});

test("errors: the name is the platform's for time-outs", () => {
  assert.equal(new module.TimeoutError("x").name, new DOMException("x", "TimeoutError").name);
});
