/** WebRwLock: two sides of one lock of the platform. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { SyncError, WebLock, WebRwLock } from "../../lib/web/mod.ts";
import { test } from "../_test.ts";
import { until, watch } from "../_tools.ts";
import { CountedLocks, freshName, managers, platform } from "./_managers.ts";

function check(what: string, fn: (locks: CountedLocks) => Promise<void>): void {
  for (const [name, locks] of managers) test(`WebRwLock, ${name}: ${what}`, () => fn(new CountedLocks(locks)));
}

check("many readers or one writer, in the order of their calls", async (locks) => {
  const name = freshName();
  const lock = new WebRwLock(name, { locks });
  const readers = [await lock.reader.acquire(), await lock.reader.acquire()];
  const writer = watch(lock.writer.acquire());
  await until(async () => await locks.waiting() === 1);
  assert.equal(await lock.reader.tryAcquire(), undefined);
  const late = watch(lock.reader.run((guard) => guard.held));
  await until(async () => await locks.waiting() === 2);
  for (const reader of readers) await reader.release();
  await (await writer.promise).release();
  assert.equal(await late.promise, true);
});

check("it is the same lock as the WebLock of its name", async (locks) => {
  const name = freshName();
  const lock = new WebRwLock(name, { locks });
  const shared = new WebLock(name, { locks, mode: "shared" });
  const guard = await lock.reader.acquire();
  await shared.run(() => {});
  assert.equal(await new WebLock(name, { locks }).tryAcquire(), undefined);
  await guard.release();
  await lock.writer.run(async () => assert.equal(await shared.tryAcquire(), undefined));
});

test("WebRwLock: wrong arguments, its name, and its messages", async () => {
  const [, locks] = managers.at(-1)!;
  if (platform === undefined) assert.throws(() => new WebRwLock("a"), SyncError);
  for (const name of [undefined, 5]) assert.throws(() => new WebRwLock(name as never, { locks }), TypeError);
  assert.throws(() => new WebRwLock("-a", { locks }), RangeError);
  assert.throws(() => new WebRwLock("a", { locks: {} as never }), TypeError);
  for (const options of [null, 5]) {
    assert.throws(() => new WebRwLock("a", options as never), /TypeError: options must be/);
  }
  const lock = new WebRwLock("cache", { locks });
  assert.match(inspect(lock), /^WebRwLock \{ name: ['"]cache['"] \}$/);
  await lock.writer.run(() =>
    assert.rejects(lock.reader.acquire({ timeout: 0 }), {
      message: 'Cannot acquire reader side "cache": timed out after 0 ms',
    })
  );
});
