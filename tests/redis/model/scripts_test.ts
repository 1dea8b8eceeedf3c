/** Single steps of the scripts that random sequences seldom meet: clocks set back, lives that are over, a server that is full. */
import assert from "node:assert/strict";
import { keysOf } from "../../../lib/redis/options.ts";
import { adopt, renew, verify } from "../../../lib/redis/scripts/holds.ts";
import { inspect } from "../../../lib/redis/scripts/inspect.ts";
import { channelsOf, ID_LENGTH, type Script } from "../../../lib/redis/scripts/script.ts";
import { acquire, release } from "../../../lib/redis/scripts/state_machine.ts";
import { IDLE_KEPT } from "../../../lib/redis/times.ts";
import { test } from "../../_test.ts";
import { evaluate, reply } from "./_lua.ts";
import { MemoryRedis } from "./_redis.ts";

const TTL = 3000;
const CHANNELS = channelsOf("interlock:");
const KINDS = [
  { kind: "lock", layout: "lock", limit: 1, own: 1, code: "m" },
  { kind: "semaphore", layout: "semaphore", limit: 2, own: 2, code: "w" },
] as const;

/** A server that is over its maxmemory: it refuses a script's write that may grow, unless another one came before. */
class FullRedis extends MemoryRedis {
  isFull = false;
  hasWritten = false;

  override call(name: string, ...args: string[]): unknown {
    if (/^(SET|HSET|ZADD|SETRANGE|RPUSH)$/.test(name) && this.isFull && !this.hasWritten) {
      throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
    }
    this.hasWritten ||= /^(SET|DEL|PEXPIRE|SETRANGE|H(SET|DEL)|Z(ADD|REM)|L(TRIM|SET)|RPUSH)$/.test(name);
    return super.call(name, ...args);
  }
}

for (const { kind, layout, limit, own, code } of KINDS) {
  const keys = keysOf("interlock:", kind, "a");
  const memberOf = (n: number) => `process${n}00000${"0".repeat(8)} 1 ${limit} `;
  const idOf = (n: number) => memberOf(n).slice(0, ID_LENGTH);
  const ownKeys = keys.slice(0, own);
  const onServer = (redis = new FullRedis()) => {
    const run = (script: Script, names: readonly string[], ...args: (string | number)[]) => {
      redis.hasWritten = false;
      return evaluate(redis, script, names, args.map(String));
    };
    return {
      redis,
      acquire: (n: number, ...position: number[]) =>
        run(acquire[layout], keys, memberOf(n), TTL + IDLE_KEPT, CHANNELS, ...position),
      release: (n: number, names: readonly string[] = keys, ...mode: string[]) =>
        run(release[layout], names, memberOf(n), CHANNELS, ...mode),
      renew: (n: number, ttl: number, number: number) =>
        run(renew, ownKeys, code + idOf(n) + String(number).padStart(8, "0") + ttl),
      adopt: (n: number, from: number) => run(adopt, ownKeys, idOf(n), idOf(from), TTL, "", 0),
      verify: (n: number) => run(verify, ownKeys, code + idOf(n)),
    };
  };

  test(`scripts: ${kind}: a waiter whose life is over leaves the queue, even behind one that lives`, () => {
    const { redis, ...server } = onServer();
    for (let holder = 1; holder <= limit; holder++) server.acquire(holder);
    const [, position = 0] = server.acquire(8);
    server.acquire(9);
    for (let i = 0; i < 3; i++) {
      redis.now += TTL * 1000 / 2;
      for (let holder = 1; holder <= limit; holder++) server.renew(holder, TTL, 0);
      const [code, , , , , unfinished] = server.acquire(8, position);
      assert.deepEqual([code, unfinished], [0, 0]);
    }
    assert.equal(redis.call("ZCARD", keys[2]), 1);
  });

  test(`scripts: ${kind}: a holder that asks again after its life is over gets a new token`, () => {
    const { redis, ...server } = onServer();
    const [, first = 0] = server.acquire(1);
    redis.now += TTL * 1000 - 1000;
    assert.deepEqual(server.acquire(1).slice(0, 2), [1, first]); // it asked in time, and lives on
    redis.now += TTL * 1000 + 1000;
    const [code, second = 0] = server.acquire(1);
    assert.ok(code === 1 && second > first, `${second} after ${first}`);
  });

  test(`scripts: ${kind}: an adopt that comes after its own release takes nothing from the holder`, () => {
    const server = onServer();
    server.acquire(1);
    server.release(2, keys, "late");
    assert.deepEqual(server.adopt(2, 1), [-2]);
    assert.ok(server.verify(1)[0]! > 0);
  });

  test(`scripts: ${kind}: a hold that was extended, then adopted, is renewed by its adopter`, () => {
    const { redis, ...server } = onServer();
    server.acquire(1);
    assert.deepEqual(server.renew(1, TTL, 1), [1]);
    assert.equal(server.adopt(2, 1)[0], 1);
    redis.now += TTL * 500;
    assert.deepEqual(server.renew(2, TTL, 0), [1]);
    assert.deepEqual(server.verify(2), [TTL * 1000]);
  });

  test(`scripts: ${kind}: a waiter whose life is over is neither shown nor counted`, () => {
    const { redis, ...server } = onServer();
    for (let n = 1; n <= limit; n++) server.acquire(n);
    assert.equal(server.acquire(7)[0], 0);
    const shown = () => {
      const [, , , , waiters, waiting] = reply(redis, inspect, keys, ["0", code]) as unknown[];
      return [(waiters as unknown[]).length / 4, waiting];
    };
    redis.now += (TTL - 1000) * 1000;
    for (let n = 1; n <= limit; n++) server.renew(n, TTL, 0);
    assert.deepEqual(shown(), [1, 1]);
    redis.now += 1_001_000;
    assert.deepEqual(shown(), [0, 0]);
  });

  for (const isOpen of [false, true]) {
    test(`scripts: ${kind}: on a full server holds are renewed and released${isOpen ? " while their slot moves" : ""}`, () => {
      const { redis, ...server } = onServer();
      const names = isOpen ? ownKeys : keys;
      for (const waiters of isOpen ? [0] : [0, 2]) {
        const holding = Array.from({ length: limit }, (_, i) => waiters + i + 1);
        for (const n of holding) assert.equal(server.acquire(n)[0], 1);
        for (let n = 0; n < waiters; n++) assert.equal(server.acquire(7 + n)[0], 0);
        redis.isFull = true;
        for (const number of [0, 1]) for (const n of holding) assert.deepEqual(server.renew(n, TTL, number), [1]);
        if (waiters > 0) assert.equal(server.acquire(7, redis.now)[0], 0); // a heartbeat
        for (const n of holding) assert.equal(server.release(n, names)[0], 1);
        redis.isFull = false;
        for (let n = 0; n < waiters; n++) assert.equal(server.release(7 + n)[0], 1);
      }
      assert.equal(server.acquire(5)[0], 1);
    });
  }
}

/** A server none of whose commands may return more than a run may check. */
class Bounded extends MemoryRedis {
  override call(name: string, ...args: string[]): unknown {
    const answer = super.call(name, ...args);
    assert.ok([answer].flat().length <= 200, `${name} ${args}`);
    return answer;
  }
}

/** Runs a script of a read-write lock, of which a writer has all 1000. */
function readWriteLock(redis: MemoryRedis) {
  const keys = keysOf("interlock:", "rw", "a");
  return (which: "acquire" | "release", n: number, weight: number, ...args: unknown[]) =>
    evaluate(redis, (which === "acquire" ? acquire : release).semaphore, keys, [
      `${String(n).padStart(ID_LENGTH, "0")} ${weight} 1000 `,
      ...args.map(String),
    ]);
}

test("scripts: one run grants at most 200 waiters, and the next one those behind them", () => {
  const redis = new Bounded();
  const run = readWriteLock(redis);
  run("acquire", 0, 1000, TTL + IDLE_KEPT, CHANNELS);
  for (let n = 1; n <= 401; n++) run("acquire", n, 1, TTL + IDLE_KEPT, CHANNELS);
  const granted = () => redis.published.splice(0).length;
  assert.deepEqual([run("release", 0, 1000, CHANNELS), granted()], [[1, 1, 0], 200]);
  assert.deepEqual([run("release", 0, 1000, CHANNELS, "serve"), granted()], [[1, 1, 0], 200]);
  assert.deepEqual([run("release", 0, 1000, CHANNELS, "serve"), granted()], [[1], 1]);
});

test("scripts: one run drops at most 200 waiters whose lives are over, and says that others are left", () => {
  const redis = new Bounded();
  const run = readWriteLock(redis);
  run("acquire", 0, 1000, 100 * TTL + IDLE_KEPT, CHANNELS);
  for (let n = 1; n <= 401; n++) run("acquire", n, 1, TTL + IDLE_KEPT, CHANNELS);
  redis.now += 2 * (TTL + IDLE_KEPT) * 1000;
  for (const unfinished of [1, 1, 0]) { // it joins once all are gone
    assert.equal(run("acquire", 999, 1, TTL + IDLE_KEPT, CHANNELS)[5], unfinished);
    assert.equal(redis.call("ZCARD", keysOf("interlock:", "rw", "a")[2]), 1);
  }
});
