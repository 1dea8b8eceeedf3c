/** A lease: `verify`, the result of `release`, and clocks that disagree. */
import assert from "node:assert/strict";
import { acquireAll } from "../../mod.ts";
import {
  LeaseLostError,
  memoryBackend,
  RedisError,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import type { Acquirable, Backend, Lease } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch, withFakeTime } from "../_tools.ts";
import { leakWarnings } from "../_warnings.ts";
import { altered } from "./_altered.ts";
import { clients, ending, redisTest, until } from "./_clients.ts";
import { FaultProxy } from "./faults/_proxy.ts";
import { nothing, scripted } from "./_scripted.ts";
import { commandOf } from "./_command_of.ts";

type Options = ConstructorParameters<typeof RedisLock>[2];

/** Every class, as a resource with one holder. */
function bodies(backend: Backend, options?: Options): Record<string, Acquirable<Lease>> {
  const keyed = new RedisKeyedMutex(backend, options);
  return {
    lock: new RedisLock(backend, "a", options),
    semaphore: new RedisSemaphore(backend, "a", 1, options),
    key: {
      acquire: (options) => keyed.acquire("a", options),
      tryAcquire: () => keyed.tryAcquire("a"),
      run: (fn, options) => keyed.run("a", fn, options),
    },
    writer: new RedisRwLock(backend, "a", options).writer,
    reader: new RedisRwLock(backend, "b", options).reader,
  };
}

redisTest("verify checks with the server and extends nothing", async ({ server, backend }) => {
  for (const [name, body] of Object.entries(bodies(backend, { ttl: 60_000 }))) {
    const lease = await body.acquire();
    const { expiresAt } = lease;
    assert.equal(await lease.verify(), true, name);
    assert.ok(lease.expiresAt <= expiresAt);
    assert.equal(lease.held, true);
    await server.send("FLUSHALL");
    assert.equal(await lease.verify(), false, name);
    assert.deepEqual([lease.held, lease.signal.aborted], [false, true]);
    assert.ok(lease.signal.reason instanceof LeaseLostError);
    assert.equal(await lease.verify(), false);
    assert.equal(await lease.release(), false);
    const next = await body.acquire();
    await next.release();
    assert.equal(await next.verify(), false);
  }
});

redisTest("verify rejects while Redis does not reply, and the lease goes on", async ({ server, backend }) => {
  const lease = await new RedisLock(backend, "a", { ttl: 6000 }).acquire();
  server.pause();
  await assert.rejects(
    lease.verify(),
    (error) => error instanceof RedisError && /^Cannot verify lock "a"/.test(error.message),
  );
  server.resume();
  assert.equal(await lease.verify(), true);
  assert.equal(await lease.release(), true);
}, { isAlone: true });

/** The same backend with a callback after each release. */
function releases(backend: Backend, alter: (answer: Promise<unknown>) => Promise<unknown>): Backend {
  return altered(backend, (run, keys, args) => commandOf(keys, args) === "release" ? alter(run()) : run());
}

redisTest("release is true when its reply is late", async ({ backend }) => {
  const held: (() => void)[] = []; // the message to the second holder can come before the reply to the first one
  const release = () => held.splice(0).forEach((resolve) => resolve());
  const late = releases(backend, async (answer) => {
    const value = await answer;
    await new Promise<void>((resolve) => held.push(resolve));
    return value;
  });
  for (const [name, body] of Object.entries(bodies(late, { ttl: 5000 }))) {
    const lease = await body.acquire();
    const second = body.acquire({ timeout: 10_000 });
    const released = watch(lease.release());
    const third = (await second).release(); // it holds only after the release of the first
    await flushMicrotasks();
    assert.equal(released.state, "pending");
    release();
    await until(() => {
      release();
      return released.state !== "pending";
    });
    assert.equal(released.value, true, name);
    await until(async () => {
      release();
      return await Promise.race([third.then(() => true), flushMicrotasks().then(() => false)]);
    });
  }
});

redisTest("release is true when only its second attempt gets a reply", async ({ backend }) => {
  let lose = false;
  const lossy = releases(backend, async (answer) => {
    const value = await answer;
    if (!lose) return value;
    lose = false;
    throw new Error("Socket closed unexpectedly");
  });
  for (const [name, body] of Object.entries(bodies(lossy))) {
    const lease = await body.acquire();
    lose = true;
    const released = lease.release();
    assert.equal(lease.release(), released);
    assert.equal(await released, true, name);
    assert.equal(lose, false);
  }
});

for (const client of clients) {
  redisTest(
    `${client.name}: release is not false when its reply was lost, others have held, and it was sent again`,
    async (
      { server, backend },
    ) => {
      await using proxy = await FaultProxy.start(server.port);
      const cut = await client.connect(proxy.url); // some clients repeat the command over their next connection
      await using _ = ending(() => cut.close());
      const others = new RedisLock(backend, "a");
      const lease = await new RedisLock(cut.backend, "a").acquire();
      const next = others.acquire();
      await until(async () => (await others.inspect()).waiting === 1);
      proxy.cutNext("after");
      proxy.refuse();
      const released = lease.release().catch((error) => error);
      await (await next).release();
      await (await others.acquire()).release();
      await proxy.accept();
      const error = await released;
      assert.ok(error instanceof RedisError, String(error));
      assert.match(error.message, /^Cannot release lock "a": /);
    },
  );
}

redisTest("release rejects when the first reply was lost and others have held since", async ({ backend, connect }) => {
  const direct = bodies(await connect());
  let after: (() => Promise<unknown>) | undefined;
  const lossy = releases(backend, async (answer) => {
    const value = await answer;
    if (after === undefined) return value;
    const others = after;
    after = undefined;
    await others();
    throw new Error("Socket closed unexpectedly");
  });
  for (const [name, body] of Object.entries(bodies(lossy))) {
    const lease = await body.acquire();
    after = async () => {
      for (let i = 0; i < 2; i++) await (await direct[name]!.acquire()).release();
    };
    const released = lease.release();
    await assert.rejects(released, (error: Error) => {
      assert.ok(error instanceof RedisError);
      assert.equal(error.name, "RedisError");
      assert.match(error.message, /^Cannot release .*: the outcome is not known.*Socket closed/);
      assert.equal((error.cause as Error).message, "Socket closed unexpectedly");
      return true;
    }, name);
    assert.equal(lease.release(), released);
    assert.equal(
      await body.run(() => {
        after = () =>
          direct[name]!.acquire().then((next) => next.release()).then(() => direct[name]!.acquire()).then((next) =>
            next.release()
          );
        return "done";
      }),
      "done",
    ); // the function has succeeded, and the hold is over
  }
});

redisTest("release is false after a loss, with any reply", async ({ server, backend }) => {
  for (const [name, body] of Object.entries(bodies(backend))) {
    const lease = await body.acquire();
    await server.send("FLUSHALL");
    assert.equal(await lease.release(), false, name);
  }
});

test("release rejects when Redis never replies", () =>
  withFakeTime(async (time) => {
    const backend = scripted((command) => command === "release" ? nothing : undefined);
    const released = watch((await new RedisLock(backend, "a", { ttl: 600 }).acquire()).release());
    await time.pass(2500);
    assert.equal(released.state, "rejected");
    assert.ok(released.reason instanceof RedisError);
  }));

test("release rejects when the client is closed before the next attempt: the hold is still there", () =>
  withFakeTime(async () => {
    const client = { closed: false, close: () => {} };
    const refused = new Error("LOADING Redis is loading the dataset in memory");
    const backend: Backend = {
      ...scripted((command) => command === "release" ? Promise.reject(refused) : undefined),
      get closed() {
        return client.closed;
      },
      onClose: (listener) => client.close = listener,
    };
    const released = watch((await new RedisLock(backend, "a").acquire()).release());
    await flushMicrotasks();
    client.closed = true;
    client.close();
    await flushMicrotasks();
    assert.ok(released.reason instanceof RedisError);
    assert.equal(released.reason.cause, refused);
  }));

/** Moves only one of the two clocks. */
function jump(clock: "wall" | "monotonic", ms: number): Disposable {
  const object = clock === "wall" ? Date : performance;
  const { now } = object;
  object.now = () => now.call(object) + ms;
  return { [Symbol.dispose]: () => object.now = now };
}

for (const ms of [-3_600_000, -1500, 1500, 3_600_000]) {
  test(`in doubt, not held: the wall clock alone jumps by ${ms} ms`, () =>
    withFakeTime(async (time) => {
      let renewals = 0;
      const backend = scripted((command) => {
        if (command === "renew") renewals++;
      });
      const lease = await new RedisLock(backend, "a").acquire();
      time.advance(500);
      assert.equal(lease.held, true);
      using _ = jump("wall", ms);
      assert.equal(lease.held, false);
      assert.equal(lease.held, false);
      time.advance(1);
      await flushMicrotasks();
      assert.equal(renewals, 1); // at once, and only one
      assert.equal(lease.held, true);
      assert.equal(lease.signal.aborted, false);
      assert.equal(await lease.release(), true);
    }));
}

test("in doubt, not held: the signal aborts if the renewal is rejected", () =>
  withFakeTime(async (time) => {
    const backend = scripted((command) => command === "renew" ? [0] : undefined);
    const lease = await new RedisLock(backend, "a").acquire();
    const { signal } = lease;
    using _ = jump("wall", 60_000); // the monotonic clock stood still while the machine was suspended
    assert.deepEqual([lease.held, signal.aborted], [false, false]);
    time.advance(1);
    await flushMicrotasks();
    assert.deepEqual([lease.held, signal.aborted], [false, true]);
    assert.equal(await lease.release(), false);
  }));

test("in doubt, not held: suspended while the reply to the acquire was in flight", () =>
  withFakeTime(async (time) => {
    let answer = () => {};
    const backend = scripted(async (command) => {
      if (command === "acquire") await new Promise<void>((resolve) => answer = resolve);
    });
    const acquired = watch(new RedisLock(backend, "a").acquire());
    await flushMicrotasks();
    using _ = jump("wall", 60_000);
    answer();
    await flushMicrotasks();
    const lease = acquired.value!;
    assert.equal(lease.held, false);
    time.advance(1);
    await flushMicrotasks();
    assert.equal(lease.held, true);
    await lease.release();
  }));

test("in doubt, not held: without renewal, verify or extend confirms", () =>
  withFakeTime(async (time) => {
    const backend = scripted(() => undefined);
    const lock = new RedisLock(backend, "a", { renew: false });
    for (const confirm of [(lease: Lease) => lease.verify(), (lease: Lease) => lease.extend()]) {
      const lease = await lock.acquire();
      using _ = jump("wall", 2000);
      assert.equal(lease.held, false);
      time.advance(10);
      await flushMicrotasks();
      assert.equal(lease.held, false);
      await confirm(lease);
      assert.equal(lease.held, true);
      await lease.release();
    }
  }));

test("a tenth of a short ttl is enough for doubt, and less is none", () =>
  withFakeTime(async () => {
    const lease = await new RedisLock(scripted(() => undefined), "a", { ttl: 600, renew: false }).acquire();
    for (const [ms, held] of [[55, true], [-55, true], [65, false], [-65, false]] as const) {
      using _ = jump("wall", ms);
      assert.equal(lease.held, held, `${ms} ms`);
    }
    assert.equal(lease.held, true); // the clocks agree again
    await lease.release();
  }));

test("a lease that is not renewed reports that its time is over", () =>
  withFakeTime(async (time) => {
    const lease = await new RedisLock(scripted(() => undefined), "a", { ttl: 600, renew: false }).acquire();
    const { signal } = lease;
    time.advance(700);
    await flushMicrotasks();
    assert.match(signal.reason.message, /^Cannot keep lock "a": its ttl of 600 ms is over/);
  }));

test("any number of functions may listen to the signal of a lease, and of a group with one", async () => {
  const warnings = await leakWarnings(async () => {
    const lease = await new RedisLock(memoryBackend(), "a").acquire();
    const group = await acquireAll([new RedisLock(memoryBackend(), "b")]);
    for (const { signal } of [lease, group]) {
      for (let i = 0; i < 20; i++) signal.addEventListener("abort", () => {});
    }
    await group.release();
    await lease.release();
  });
  assert.deepEqual(warnings, []);
});
