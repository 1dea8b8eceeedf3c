/**
 * Common mistakes are made here, and their errors compared: with docs/mistakes.md, or with a list of those whose message
 * says what to write instead.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { PassThrough } from "node:stream";
import express from "express";
import { createClient } from "redis";
import {
  acquireAll,
  BoundedSemaphore,
  Condition,
  GracefulShutdown,
  type Guard,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  lockOnArguments,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
} from "../mod.ts";
import { dashboard } from "../lib/dashboard/mod.ts";
import { metrics, trace, watchdog } from "../lib/diagnostics/mod.ts";
import { WebLock } from "../lib/web/mod.ts";
import {
  memoryBackend,
  nodeRedis,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisSemaphore,
} from "../lib/redis/mod.ts";
import { runtime, test } from "./_test.ts";

const page = readFileSync(new URL("../docs/mistakes.md", import.meta.url), "utf8");
const list = /## Mistakes that are caught[^]*?\n((?:(?:- | {2}).*\n)+)/.exec(page)?.[1] ?? "";
/** The first code of an item is the mistake, the second its error. */
const explained = list.replaceAll(/\n {2}/g, " ").trimEnd().split("\n").map((item) =>
  [...item.matchAll(/`([^`]+)`/g)].map(([, text]) => text)
);

/** Not in the page: the message is enough, or docs/migrating/locks.md has the name. */
const others = [
  ["Pool.map(urls, save, 5)", "TypeError: limit must be a number, got function save: write Pool.map(items, 5, fn)"],
  ["pool.map(urls, save, 5)", "TypeError: options must be an object such as { signal }, got 5"],
  [
    'new Condition({ name: "items" })',
    "TypeError: lock must be a Lock, got an object (Object): write new Condition(undefined, { name })",
  ],
  ["watchdog(5000)", "TypeError: options must be an object such as { waited }, got 5000"],
  ["trace(5000)", "TypeError: options must be an object such as { limit }, got 5000"],
  ["dashboard(8080)", "TypeError: options must be an object such as { hosts }, got 8080"],
  ["metrics(meter, 5)", "TypeError: options must be an object such as { name }, got 5"],
  ["nodeRedis(client, 5)", "TypeError: options must be an object such as { push }, got 5"],
  ["new RedisKeyedMutex(backend, 5)", "TypeError: options must be an object such as { ttl }, got 5"],
  ['new WebLock("orders", 5)', "TypeError: options must be an object such as { mode }, got 5"],
  ["lockOnArguments(users, [0], 5)", "TypeError: options must be an object such as { name }, got 5"],
  ["shutdown.attach(server, 5)", "TypeError: options must be an object such as { label }, got 5"],
  ["shutdown.webSocket(socket, 5)", "TypeError: options must be an object such as { label }, got 5"],
  ["oneSeat.tryAcquire(2)", "RangeError: permits must be 1, got 2"],
  ['new RedisLock(…, { ttl: "30s" })', 'TypeError: ttl must be a number of milliseconds, got "30s"'],
  ["lock.runExclusive(save)", "TypeError: lock.runExclusive is not a function"],
  ['await lock.acquire({ timeout: "5" })', 'TypeError: timeout must be a number of milliseconds, got "5"'],
  ["await lock.acquire(5000)", "TypeError: options must be an object such as { timeout }, got 5000"],
  ['new Lock("orders")', 'TypeError: options must be an object such as { name }, got "orders"'],
  ["await lock.acquire(signal)", "TypeError: options must not be a signal: pass { signal }, got …"],
  [
    "await lock.acquire({ signal: controller })",
    "TypeError: signal must be an AbortSignal, such as controller.signal, got an object (AbortController)",
  ],
  ["await semaphore.acquire(2)", "TypeError: options must be an object such as { permits }, got 2"],
  ['await uploads.acquire("ann", 2)', "TypeError: options must be an object such as { permits }, got 2"],
  ["await limiter.acquire(2)", "TypeError: options must be an object such as { permits }, got 2"],
  ["await redisSemaphore.acquire(2)", "TypeError: options must be an object such as { permits }, got 2"],
  ["await redisLimiter.acquire(2)", "TypeError: options must be an object such as { permits }, got 2"],
  ["semaphore.tryAcquire({ permits: 2 })", "TypeError: permits must be a number, got an object (Object)"],
  ["acquireAll(a, b)", "TypeError: list must be an array such as [a, b], got an object (Lock)"],
  ["acquireAll([users])", "TypeError: list[0] must be … or a key (mutex.at(key)), got an object (KeyedMutex)"],
  ["new Semaphore(-1)", "RangeError: value must be a whole number of 0 or more, got -1"],
  ["new RedisLock(…, { ttl: 5 })", "RangeError: ttl must be a whole number of milliseconds from 10 to …, got 5"],
  ['new Pool("5")', 'TypeError: limit must be a number, got "5"'],
  [
    "lock.run(work())",
    "TypeError: fn must be a function, such as () => work(), before any options, got an object (Promise)",
  ],
  [
    "lock.run({ timeout: 5 }, save)",
    "TypeError: fn must be a function, such as () => work(), before any options, got an object (Object)",
  ],
  ["work.finally(guard.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  ["work.finally(lock.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  ["work.finally(condition.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  ["work.then(semaphore.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  ["work.finally(group.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  ["work.finally(lease.release)", "TypeError: release must be called as () => guard.release(), got undefined"],
  [
    "shutdown.attach(app)",
    "TypeError: server must be a server of node:http, … (pass the server that app.listen returns), …",
  ],
  [
    'new RedisLock(client, "orders")',
    "TypeError: backend must be a Backend made of the client, such as nodeRedis(client) …",
  ],
  [
    "using lease = await redisLock.acquire()",
    "TypeError: lease must be declared with await using, not with using",
  ],
  ["users.run(save)", "TypeError: key must be neither undefined nor a function: the key comes first, got …"],
  ["redisUsers.run(7, save)", "TypeError: key must be a string, such as String(id), got 7"],
  [
    "new Pool(5, { rate: redisLimiter })",
    "TypeError: rate must be a RateLimiter (await any other limiter in the function), got …",
  ],
  ["new RateLimiter(100)", "TypeError: interval must be a number of milliseconds, got undefined"],
  ["await lock.acquire({ timeout: null })", "TypeError: timeout must be a number of milliseconds, got null"],
] as const;
const lines: (readonly (string | undefined)[])[] = [...explained, ...others];

const [lock, rw] = [new Lock(), new RwLock()];
const save = () => {};
const instrument = () => ({ record() {}, add() {} });
const meter = { createHistogram: instrument, createUpDownCounter: instrument, createCounter: instrument };

/** With what TypeScript says of each: a line without `@ts-expect-error` compiles, as the page says below the list. */
const mistakes: Readonly<Record<string, () => unknown>> = {
  // @ts-expect-error: a number
  'await lock.acquire({ timeout: "5" })': () => new Lock().acquire({ timeout: "5" }),
  // @ts-expect-error: an object
  "await lock.acquire(5000)": () => new Lock().acquire(5000),
  // @ts-expect-error: { name }
  'new Lock("orders")': () => new Lock("orders"),
  // @ts-expect-error: { signal }
  "await lock.acquire(signal)": () => new Lock().acquire(new AbortController().signal),
  // @ts-expect-error: controller.signal
  "await lock.acquire({ signal: controller })": () => new Lock().acquire({ signal: new AbortController() }),
  // @ts-expect-error: undefined
  "await lock.acquire({ timeout: null })": () => new Lock().acquire({ timeout: null }),
  // @ts-expect-error: { permits }
  "await semaphore.acquire(2)": () => new Semaphore(3).acquire(2),
  // @ts-expect-error: { permits }
  'await uploads.acquire("ann", 2)': () => new KeyedSemaphore<string>(3).acquire("ann", 2),
  // @ts-expect-error: { permits }
  "await limiter.acquire(2)": () => new RateLimiter(3, 1000).acquire(2),
  // @ts-expect-error: { permits }
  "await redisSemaphore.acquire(2)": () => new RedisSemaphore(memoryBackend(), "gateway", 3).acquire(2),
  // @ts-expect-error: { permits }
  "await redisLimiter.acquire(2)": () => new RedisRateLimiter(memoryBackend(), "crawl", 3, 1000).acquire(2),
  // @ts-expect-error: a number
  "semaphore.tryAcquire({ permits: 2 })": () => new Semaphore(3).tryAcquire({ permits: 2 }),
  // @ts-expect-error: a list
  "acquireAll(a, b)": () => acquireAll(new Lock(), new Lock()),
  // @ts-expect-error: users.at(key)
  "acquireAll([users])": () => acquireAll([new KeyedMutex()]),
  // @ts-expect-error: the lock comes first
  'new Condition({ name: "items" })': () => new Condition({ name: "items" }),
  "new Semaphore(-1)": () => new Semaphore(-1),
  "new RedisLock(…, { ttl: 5 })": () => new RedisLock(memoryBackend(), "orders", { ttl: 5 }),
  "await pool.map(urls, load)": async () => {
    await using pool = new Pool(1);
    await pool.map([1], (n) => n);
  },
  // @ts-expect-error: a number
  'new Pool("5")': () => new Pool("5"),
  // @ts-expect-error: a function
  "lock.run(work())": () => new Lock().run(Promise.resolve()),
  // @ts-expect-error: the function comes first
  "lock.run({ timeout: 5 }, save)": () => new Lock().run({ timeout: 5 }, save),
  // @ts-expect-error: the limit comes second
  "Pool.map(urls, save, 5)": () => Pool.map(["/"], save, 5),
  // @ts-expect-error: the limit is that of the pool
  "pool.map(urls, save, 5)": () => new Pool(5).map(["/"], save, 5),
  // @ts-expect-error: { waited }
  "watchdog(5000)": () => watchdog(5000),
  // @ts-expect-error: { limit }
  "trace(5000)": () => trace(5000),
  // @ts-expect-error: { hosts }
  "dashboard(8080)": () => dashboard(8080),
  // @ts-expect-error: { name }
  "metrics(meter, 5)": () => metrics(meter, 5),
  // @ts-expect-error: { push }
  "nodeRedis(client, 5)": () => nodeRedis(createClient(), 5),
  // @ts-expect-error: { ttl }
  "new RedisKeyedMutex(backend, 5)": () => new RedisKeyedMutex(memoryBackend(), 5),
  // @ts-expect-error: { mode }
  'new WebLock("orders", 5)': () => new WebLock("orders", 5),
  // @ts-expect-error: { name }
  "lockOnArguments(users, [0], 5)": () => lockOnArguments(new KeyedMutex<string>(), [0], 5),
  // @ts-expect-error: { label }
  "shutdown.attach(server, 5)": () => new GracefulShutdown({ signals: [] }).attach(createServer(), 5),
  // @ts-expect-error: { label }
  "shutdown.webSocket(socket, 5)": () => new GracefulShutdown({ signals: [] }).webSocket(new PassThrough(), 5),
  "oneSeat.tryAcquire(2)": () => new BoundedSemaphore(1).tryAcquire(2),
  // @ts-expect-error: a number
  'new RedisLock(…, { ttl: "30s" })': () => new RedisLock(memoryBackend(), "orders", { ttl: "30s" }),
  "using _ = lock.acquire()": () => {
    // @ts-expect-error: a promise cannot be disposed of
    using _ = new Lock().acquire();
  },
  "using lease = await redisLock.acquire()": async () => {
    // @ts-expect-error: `await using`
    using _ = await new RedisLock(memoryBackend(), "orders").acquire();
  },
  // @ts-expect-error: a server
  "shutdown.attach(app)": () => new GracefulShutdown({ signals: [] }).attach(express()),
  // @ts-expect-error: nodeRedis(client)
  'new RedisLock(client, "orders")': () => new RedisLock(createClient(), "orders"),
  // @ts-expect-error: lock.run
  "lock.runExclusive(save)": () => lock.runExclusive(save),
  // @ts-expect-error: rw.reader, rw.writer
  "rw.acquire()": () => rw.acquire(),
  // @ts-expect-error: a getter
  "lock.locked()": () => lock.locked(),
  // @ts-expect-error: the key comes first
  "users.run(save)": () => new KeyedMutex().run(save),
  // @ts-expect-error: a string
  "redisUsers.run(7, save)": () => new RedisKeyedMutex(memoryBackend()).run(7, save),
  // @ts-expect-error: a RateLimiter
  "new Pool(5, { rate: redisLimiter })": () => new Pool(5, { rate: new RedisRateLimiter(memoryBackend(), "x", 1, 1) }),
  // @ts-expect-error: the interval is not optional
  "new RateLimiter(100)": () => new RateLimiter(100),
  "work.finally(guard.release)": async () => {
    const guard = await new Lock().acquire();
    await Promise.resolve().finally(guard.release);
  },
  "work.finally(lock.release)": () => Promise.resolve().finally(new Lock().release),
  "work.finally(condition.release)": () => Promise.resolve().finally(new Condition().release),
  // @ts-expect-error: a number of permits
  "work.then(semaphore.release)": () => Promise.resolve("done").then(new Semaphore().release),
  "const { acquire } = lock; await acquire()": async () => {
    const { acquire } = lock;
    await acquire();
  },
  "work.finally(group.release)": async () => await Promise.resolve().finally((await acquireAll([])).release),
  "work.finally(lease.release)": async () => {
    await using lease = await new RedisLock(memoryBackend(), "orders").acquire();
    await Promise.resolve().finally(lease.release);
  },
  "try { guard = await lock.acquire({ timeout }) } finally { guard.release() }": async () => {
    let guard: Guard;
    try {
      await using _ = await lock.acquire();
      guard = await lock.acquire({ timeout: 0 });
    } finally {
      // @ts-expect-error: used before it is assigned
      guard.release();
    }
  },
  "lock.release()": () => new Lock().release(),
};

/** Whether the message is the one of the page, in which … stands for anything. */
function isShown(shown: string, error: unknown): boolean {
  const parts = shown.split("…").map((part) => part.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(`${error}`);
}

test("mistakes: each mistake that the page lists is tried here, and no other", () => {
  assert.deepEqual(lines.map(([code]) => code).sort(), Object.keys(mistakes).sort());
});

/** In the words of run-times and transpilers, for what they find themselves. */
const elsewhere: Readonly<Record<string, RegExp>> = {
  "using _ = lock.acquire()": /Object not disposable|is not a function|@@dispose must not be/,
  "try { guard = await lock.acquire({ timeout }) } finally { guard.release() }": /undefined/,
  "lock.locked()": /lock\.locked is not a function/,
  "lock.runExclusive(save)": /lock\.runExclusive is not a function/,
  "const { acquire } = lock; await acquire()": /#mutex/,
  "rw.acquire()": /rw\.acquire is not a function/,
};

for (const [code = "", shown = ""] of lines) {
  test(`mistakes: ${code}`, async () => {
    try {
      await mistakes[code]!();
    } catch (error) {
      const isKnown = runtime === "deno"
        ? isShown(shown, error)
        : isShown(shown, error) || elsewhere[code]?.test(`${error}`);
      assert.ok(isKnown, `${error}`);
      return;
    }
    assert.fail("no error");
  });
}
