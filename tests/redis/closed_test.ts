/** After the client was closed, the error of every call says so. */
import assert from "node:assert/strict";
import { LeaseLostError } from "../../lib/errors.ts";
import { type Backend, type Lease, RedisError, RedisLock, RedisRateLimiter } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch } from "../_tools.ts";
import { clients, type Connected, subscribed, until } from "./_clients.ts";
import { closable, fakeTimeTest, nothing, queuedReply, scripted } from "./_scripted.ts";
import { Server } from "./_server.ts";
import { Warnings } from "./_warnings.ts";

const CLOSED = (operation: string) => (error: Error) => {
  assert.ok(error instanceof RedisError, `${error}`);
  assert.match(error.message, new RegExp(`^Cannot ${operation} .*: the client was closed`));
  return true;
};

/** The same for every client: what is held, waits, is over, and begins. */
async function close(connected: Connected, server: Server): Promise<void> {
  const { backend } = connected;
  const lock = new RedisLock(backend, "orders");
  const held = await lock.acquire();
  const over = await new RedisLock(backend, "over").acquire();
  await new RedisLock(backend, "over").forceRelease();
  assert.equal(await over.verify(), false);
  const waiting = assert.rejects(lock.acquire(), CLOSED("acquire"));
  await until(async () => (await lock.inspect()).waiting === 1);
  await subscribed(server, 1); // a client that is closed while it connects keeps a timer
  await connected.close();
  await assertClosed(backend, lock, held);
  assert.equal(await over.release(), false);
  await waiting;
}

async function assertClosed(backend: Backend, lock: RedisLock, held: Lease): Promise<void> {
  assert.equal(held.held, false);
  assert.equal(held.signal.aborted, true);
  await assert.rejects(held.extend(), (error: Error) => {
    assert.ok(error instanceof LeaseLostError);
    assert.match(error.message, /the lease is lost, because the client was closed$/);
    return true;
  });
  await assert.rejects(held.release(), CLOSED("release"));
  assert.equal(await held.verify(), false);
  for (const options of [undefined, { timeout: 1000 }, { signal: new AbortController().signal }]) {
    await assert.rejects(lock.acquire(options), CLOSED("acquire"));
  }
  await assert.rejects(lock.tryAcquire(), CLOSED("acquire"));
  await assert.rejects(lock.adopt("id"), CLOSED("acquire"));
  await assert.rejects(lock.inspect(), CLOSED("inspect"));
  await assert.rejects(lock.forceRelease(), CLOSED("release"));
  const limiter = new RedisRateLimiter(backend, "orders", 1, 1000);
  await assert.rejects(limiter.acquire(), CLOSED("acquire"));
  await assert.rejects(limiter.retryAfter(), CLOSED("look at"));
}

for (const client of clients) {
  test(`${client.name}: after the client was closed, every call's error says so`, async () => {
    using warnings = new Warnings();
    await using server = await Server.start();
    await close(await client.connect(server.url), server);
    assert.equal(warnings.seen.length, 1); // of `over`, which was lost first
  });
}

fakeTimeTest("a release in flight says that the client was closed, and not that Redis is silent", async (time) => {
  using _ = new Warnings();
  const { backend, close } = closable(scripted((command) => command === "release" ? nothing : undefined));
  const lease = await new RedisLock(backend, "orders").acquire();
  const release = lease.release();
  await flushMicrotasks();
  close();
  await assert.rejects(release, {
    name: "RedisError",
    message:
      'Cannot release lock "orders": the outcome is not known, because an answer is missing (the client was closed)',
  });
  time.advance(60_000); // the command that never settles
  await flushMicrotasks();
});

for (let steps = 0; steps < 16; steps++) {
  fakeTimeTest(`a call ends as the client is closed ${steps} steps after its last answer`, async (time) => {
    let answer: ((reply: unknown) => void) | undefined;
    let asked = 0;
    const { backend, close } = closable(scripted((command) => {
      if (command !== "acquire") return undefined;
      if (backend.closed) return flushMicrotasks().then(() => Promise.reject(new Error("The client is closed")));
      return ++asked === 1 ? queuedReply() : new Promise((resolve) => answer = resolve);
    }));
    const waiting = watch(new RedisLock(backend, "orders").acquire());
    while (answer === undefined) await time.pass(100); // until its heartbeat
    answer(queuedReply());
    for (let i = 0; i < steps; i++) await undefined;
    close();
    for (let i = 0; i < 3; i++) await flushMicrotasks();
    assert.match(`${waiting.reason}`, /Cannot acquire lock "orders": the client was closed/);
  });
}
