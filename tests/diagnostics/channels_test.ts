import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import process from "node:process";
import { SyncError } from "../../mod.ts";
import { channels, observe } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { Thing } from "./_tools.ts";

test("channels: publishes what observers see, until disposed of", () => {
  const published: string[] = [];
  const seen: unknown[] = [], received: unknown[] = [];
  const keep = (message: unknown, name: string | symbol) => {
    received.push(message);
    published.push(String(name));
  };
  const names = ["interlock:wait", "interlock:grant", "interlock:give-up", "interlock:release"];
  for (const name of names) subscribe(name, keep);
  const add = (event: unknown) => void seen.push(event);
  try {
    using _observing = observe({ wait: add, grant: add, giveUp: add, release: add });
    const publishing = channels();
    const lock = new Thing("lock", "orders"), first = {}, second = {};
    lock.grant(first);
    lock.wait(second);
    lock.timeOut(second);
    lock.release(first);
    publishing[Symbol.dispose]();
    assert.equal(received.length, 4);
    assert.ok(received.every((message, i) => message === seen[i]));
    lock.grant(first);
    assert.deepEqual(published, ["interlock:grant", "interlock:wait", "interlock:give-up", "interlock:release"]);
  } finally {
    for (const name of names) unsubscribe(name, keep);
  }
});

test("channels: says so where the platform has none", () => {
  const { getBuiltinModule } = process;
  Object.assign(process, { getBuiltinModule: undefined });
  try {
    assert.throws(() => channels(), (error: Error) => {
      assert.ok(error instanceof SyncError);
      assert.match(error.message, /^Cannot publish diagnostics: node:diagnostics_channel is missing/);
      return true;
    });
  } finally {
    Object.assign(process, { getBuiltinModule });
  }
});
