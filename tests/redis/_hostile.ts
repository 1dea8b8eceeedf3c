/**
 * Random bytes in every key of every body, by a seed. What a round asserts: each call ends with a RedisError or as it
 * should, nothing is granted beside what is held, and calls for other names go on.
 *
 * Bytes that this module itself might have written are left out: who may write the keys is trusted with their meaning.
 */
import assert from "node:assert/strict";
import {
  type Backend,
  type Lease,
  LeaseLostError,
  RedisError,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
  TimeoutError,
  type WaitOptions,
} from "../../lib/redis/mod.ts";
import type { Acquirable } from "../../lib/types.ts";
import { Random } from "../_tools.ts";
import { keysOf, type Kind, rateKeysOf } from "../../lib/redis/options.ts";
import { type Setup, until } from "./_clients.ts";

/** Milliseconds in which all calls of a round have to end. */
const MOST = 10_000;

/** One name of a body: something holds it or has used it up, something waits, and others ask. */
interface Subject {
  /** Takes all there is; returns what its holder calls while its data is spoilt, and its release. */
  take(): Promise<{ calls: (() => Promise<unknown>)[]; release: () => Promise<unknown> }>;
  /** Waits; resolves once it was granted. */
  wait(signal: AbortSignal): Promise<unknown>;
  /** Calls that must be granted nothing. */
  readonly asks: readonly (() => Promise<unknown>)[];
  /** Calls that grant nothing. */
  readonly looks: readonly (() => Promise<unknown>)[];
}

export interface HostileBody {
  readonly name: string;
  /** The start of its keys, and the ends of those that it has while something waits. */
  readonly kind: Kind;
  readonly ends: readonly string[];
  make(backend: Backend, name: string): Subject;
}

const OPTIONS = { ttl: 20_000, renew: false };

/** What takes all of a body, what competes with it, and its `inspect`. */
type Competitors = [first: Acquirable<Lease>, second: Acquirable<Lease, WaitOptions>, inspect: () => Promise<unknown>];

/** A body with leases. */
function leasedBody(name: string, kind: Kind, of: (backend: Backend, name: string) => Competitors): HostileBody {
  const make: HostileBody["make"] = (...args) => {
    const [first, second, inspect] = of(...args);
    return {
      async take() {
        const held = await first.acquire();
        return { calls: [() => held.verify(), () => held.extend(20_000)], release: () => held.release() };
      },
      wait: (signal) => second.acquire({ signal }).then((lease) => lease.release()),
      asks: [async () => await second.tryAcquire(), () => second.acquire({ timeout: 30 })],
      looks: [inspect],
    };
  };
  return { name, kind, ends: ["", ":queue", ":lives"], make };
}

export const hostileBodies: readonly HostileBody[] = [
  leasedBody("RedisLock", "lock", (backend, name) => {
    const lock = new RedisLock(backend, name, OPTIONS);
    return [lock, lock, () => lock.inspect()];
  }),
  leasedBody("RedisSemaphore", "semaphore", (backend, name) => {
    const semaphore = new RedisSemaphore(backend, name, 1, OPTIONS);
    return [semaphore, semaphore, () => semaphore.inspect()];
  }),
  leasedBody("RedisKeyedMutex", "keyed", (backend, name) => {
    const mutex = new RedisKeyedMutex(backend, OPTIONS);
    return [mutex.at(name), mutex.at(name), () => mutex.inspect(name)];
  }),
  leasedBody("RedisRwLock, a writer against a reader", "rw", (backend, name) => {
    const rw = new RedisRwLock(backend, name, OPTIONS);
    return [rw.reader, rw.writer, () => rw.inspect()];
  }),
  leasedBody("RedisRwLock, a reader against a writer", "rw", (backend, name) => {
    const rw = new RedisRwLock(backend, name, OPTIONS);
    return [rw.writer, rw.reader, () => rw.inspect()];
  }),
  {
    name: "RedisRateLimiter",
    kind: "rate",
    ends: ["", ":starts"],
    make(backend, name) {
      const limiter = new RedisRateLimiter(backend, name, 2, 60_000);
      return {
        take: async () => {
          await limiter.acquire({ permits: 2 });
          return { calls: [], release: () => Promise.resolve() };
        },
        wait: (signal) => limiter.acquire({ signal }),
        asks: [
          async () => await limiter.tryAcquire() || undefined,
          () => limiter.acquire({ timeout: 30 }).then(() => true),
        ],
        looks: [() => limiter.retryAfter()],
      };
    },
  },
];

/** Text that is nearly what is stored, or that some parser takes for a number. */
const LETTERS = "0123456789 +-.enaif\u0001~zZ{}:xX";
const SPECIAL = ["", "inf", "-inf", "nan", "0.", " 0", "0x0", "1e-9", "-0", "-1", "1e400", "9".repeat(400)];

function bytesOf(random: Random): Uint8Array {
  const length = 1 + random.below(95);
  const kind = random.below(4);
  if (kind === 0) return new TextEncoder().encode(random.pick(SPECIAL));
  return Uint8Array.from({ length }, () => kind === 1 ? random.below(256) : LETTERS.charCodeAt(random.below(29)));
}

/** Changes one key in one place; ARGV: the bytes in hexadecimal, and choices. Returns what it did. */
const SPOIL = `
local text = string.gsub(ARGV[1], '..', function(two) return string.char(tonumber(two, 16)) end)
local a, b, c = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key, kind = KEYS[1], redis.call('TYPE', KEYS[1]).ok
-- The old text with a change in one place.
local function changed(old)
  local at, byte = b % math.max(#old, 1) + 1, string.sub(text, 1, 1)
  if c % 4 == 0 then return text end
  if c % 4 == 1 then return string.sub(old, 1, at - 1) end
  return string.sub(old, 1, at - 1) .. byte .. string.sub(old, at + c % 4 - 2)
end
local function unlike(pattern, new) return string.find(new, pattern) and text .. '~' or new end
-- What may be the state of a rate limit, in MessagePack, is text instead.
local function unlikeRate(new)
  local isPacked, all = pcall(function() return { cmsgpack.unpack(new) } end)
  if not isPacked or type(all[10]) ~= 'string' and math.abs(tonumber(all[1]) or 0) < 1e12 then return new end
  return 'x~'
end
if a % 5 == 0 or kind == 'none' then
  redis.call('DEL', key)
  if kind == 'string' then redis.call('RPUSH', key, text) else redis.call('SET', key, text) end
elseif kind == 'string' then
  local new = unlike('^' .. string.rep('%d', 16) .. '[+-]' .. string.rep('.', 50), changed(redis.call('GET', key)))
  redis.call('SET', key, unlikeRate(new))
elseif kind == 'hash' then
  local fields = redis.call('HKEYS', key)
  local field = a % 5 == 1 and text or fields[b % #fields + 1]
  local new = changed(redis.call('HGET', key, field) or '')
  if field == 'n' or field == 'l' then new = unlike('^%d+$', new) end
  redis.call('HSET', key, field, unlike('^' .. string.rep('%d', 24) .. ' %d+ %d+ ', new))
elseif kind == 'zset' then
  redis.call('ZADD', key, ({ '5', 'inf', '-inf', '1e17' })[c % 4 + 1], text)
elseif kind == 'list' then
  local new = unlikeRate(changed(redis.call('LINDEX', key, -1)))
  if a % 2 == 0 then redis.call('LSET', key, b % redis.call('LLEN', key), new) else redis.call('RPUSH', key, new) end
end
return kind
`;

async function spoil(server: Setup["server"], key: string, random: Random): Promise<void> {
  const hex = Array.from(bytesOf(random), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const choices = [random.below(1000), random.below(1000), random.below(1000)];
  await server.send("EVAL", SPOIL, 1, key, hex, ...choices);
}

/** Settles as the promise does, which has to be soon. */
async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not ended after ${MOST} ms`)), MOST);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Fails unless the call was granted nothing, for a reason that a caller understands; a busy machine may give no answer. */
async function refused(call: () => Promise<unknown>, what: string): Promise<void> {
  const value = await soon(call(), what).catch((error) => fine(error, what));
  assert.equal(value, undefined, `${what}: granted beside what is held`);
}

function fine(error: unknown, what: string): undefined {
  const known = error instanceof RedisError || error instanceof TimeoutError || error instanceof LeaseLostError;
  const isNamed = !(error instanceof RedisError) ||
    / key (that begins with )?"interlock:|elsewhere, with |: Redis has not answered for /.test(error.message);
  assert.ok(known && isNamed, `${what}: ${error instanceof Error ? error.stack : error}`);
}

/** One name of one body, one of whose keys is spoilt while it is held and waited for. */
async function round({ server, backend }: Setup, body: HostileBody, end: string, seed: number): Promise<void> {
  const what = `${body.name}, ${end || "state"}, seed ${seed}`;
  const { kind } = body;
  const [state] = kind === "rate" ? rateKeysOf("interlock:", `${seed}`) : keysOf("interlock:", kind, `${seed}`);
  const { take, wait, asks, looks } = body.make(backend, String(seed));
  const { calls, release } = await take();
  const controller = new AbortController();
  let granted = false;
  const waiting = wait(controller.signal).then(() => void (granted = true), (error) => fine(error, what));
  const sign = kind === "rate" ? ["LLEN", `${state}:starts`, 2] as const : ["ZCARD", `${state}:queue`, 1] as const;
  await until(async () => await server.send(sign[0], sign[1]) === sign[2]);
  await spoil(server, `${state}${end}`, new Random(seed));
  await Promise.all([
    ...asks.map((call) => refused(call, what)),
    ...[...looks, ...calls].map((call) => soon(call(), what).catch((error) => fine(error, what))),
  ]);
  assert.equal(granted, false, `${what}: a waiter was granted beside what is held`);
  await soon(release(), what).catch((error) => fine(error, what));
  controller.abort(new TimeoutError("over"));
  await soon(waiting, what);
  await server.send("DEL", ...body.ends.map((one) => state + one));
}

/** Takes and releases another lock until it is told to stop; returns how often. */
async function goOn(backend: Backend, over: () => boolean): Promise<number> {
  const lock = new RedisLock(backend, "bystander", OPTIONS);
  let times = 0;
  for (; !over(); times++) {
    const lease = await lock.acquire({ timeout: MOST });
    assert.equal(await lease.release(), true);
  }
  return times;
}

/** Runs rounds for each key of a body, `atOnce` of them at a time, while other calls go on. */
export async function hostileRounds(
  setup: Setup,
  body: HostileBody,
  rounds: number,
  seed: number,
  atOnce = 20,
): Promise<void> {
  let over = false;
  const others = goOn(setup.backend, () => over);
  const left = body.ends.flatMap((end, i) =>
    Array.from({ length: rounds }, (_, j) => ({ end, seed: seed + i * rounds + j }))
  );
  const failures: string[] = [];
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      await round(setup, body, next.end, next.seed).catch((error) => failures.push(String(error)));
    }
  }));
  over = true;
  assert.ok(await others > 0);
  assert.deepEqual(failures, []);
}
