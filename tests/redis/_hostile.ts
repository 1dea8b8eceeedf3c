/**
 * Random bytes in every key of every body, by a seed. What a round asserts: each call ends with a RedisError or as it
 * should, and nothing is granted beside what is held.
 *
 * Bytes that this module itself might have written are left out: who may write the keys is trusted with their meaning.
 */
import assert from "node:assert/strict";
import {
  type Backend,
  type Lease,
  LeaseLostError,
  RedisError,
  RedisRateLimiter,
  TimeoutError,
  type WaitOptions,
} from "../../lib/redis/mod.ts";
import { Random, watch } from "../_tools.ts";
import { keysOf, type Kind, rateKeysOf } from "../../lib/redis/options.ts";
import { bodies, type MakeBody } from "./_bodies.ts";
import { type Setup, until } from "./_clients.ts";

/** Milliseconds in which all calls of a round have to end. */
const MOST = 10_000;

/** One name of a body: a caller holds all there is, or has used it up, and others ask. */
interface Subject {
  take(): Promise<Lease | void>;
  acquire(options: WaitOptions): Promise<unknown>;
  tryAcquire(): Promise<unknown>;
  look(): Promise<unknown>;
}

export interface HostileBody {
  readonly name: string;
  readonly kind: Kind;
  /** The ends of the keys that it has while there is a waiter. */
  readonly ends: readonly string[];
  make(backend: Backend, prefix: string): Subject;
}

/** A body with leases, of which `first` takes all and `second` competes with it. */
function leasedBody(name: string, kind: Kind, first: MakeBody, second = first): HostileBody {
  const make = (backend: Backend, prefix: string) => {
    const options = { prefix, ttl: 20_000, renew: false };
    const [{ held, inspect }, other] = [first(backend, options), second(backend, options)];
    return {
      take: () => held.acquire(),
      acquire: (options: WaitOptions) => other.held.acquire(options),
      tryAcquire: async () => await other.held.tryAcquire(),
      look: inspect,
    };
  };
  return { name, kind, ends: ["", ":queue", ":lives"], make };
}

export const hostileBodies: readonly HostileBody[] = [
  leasedBody("RedisLock", "lock", bodies.lock),
  leasedBody("RedisSemaphore", "semaphore", bodies.semaphore),
  leasedBody("RedisKeyedMutex", "keyed", bodies.key),
  leasedBody("RedisRwLock, a writer against a reader", "rw", bodies.reader, bodies.writer),
  leasedBody("RedisRwLock, a reader against a writer", "rw", bodies.writer, bodies.reader),
  {
    name: "RedisRateLimiter",
    kind: "rate",
    ends: ["", ":starts"],
    make(backend, prefix) {
      const limiter = new RedisRateLimiter(backend, "a", 2, 60_000, { prefix });
      return {
        take: () => limiter.acquire({ permits: 2 }),
        acquire: (options) => limiter.acquire(options).then(() => true),
        tryAcquire: async () => await limiter.tryAcquire() || undefined,
        look: () => limiter.retryAfter(),
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

/** Throws if a caller would not understand the error. */
function understand(error: unknown): void {
  const known = error instanceof RedisError || error instanceof TimeoutError || error instanceof LeaseLostError;
  const isNamed = !(error instanceof RedisError) ||
    / key (that begins with )?"[\d:]+(lock|semaphore|keyed|rw|rate):|elsewhere, with |: Redis has not answered for /
      .test(error.message);
  assert.ok(known && isNamed, error instanceof Error ? error.stack : String(error));
}

/** One name of one body, one of whose keys is spoilt while it is held and waited for. */
async function round({ server, backend }: Setup, body: HostileBody, end: string, seed: number): Promise<void> {
  const { kind, ends, make } = body;
  const prefix = `${seed}:`;
  const [state] = kind === "rate" ? rateKeysOf(prefix, "a") : keysOf(prefix, kind, "a");
  const { take, acquire, tryAcquire, look } = make(backend, prefix);
  const held = await take();
  const controller = new AbortController();
  const waiting = watch(acquire({ signal: controller.signal }));
  const [sign, count] = kind === "rate"
    ? [["LLEN", `${state}:starts`], 2] as const
    : [["ZCARD", `${state}:queue`], 1] as const;
  await until(async () => await server.send(...sign) === count);
  await spoil(server, `${state}${end}`, new Random(seed));
  const asking = [tryAcquire(), acquire({ timeout: 30 })].map(watch);
  const looking = [look, ...held ? [() => held.verify(), () => held.extend(20_000)] : []].map((call) => watch(call()));
  await until(() => [...asking, ...looking].every(({ state }) => state !== "pending"), MOST);
  assert.deepEqual(
    [...asking, waiting].map(({ value }) => value),
    [undefined, undefined, undefined],
    "granted beside it",
  );
  await held?.release().catch(understand);
  controller.abort(new TimeoutError("over"));
  await until(() => waiting.state !== "pending", MOST);
  for (const { state, reason } of [...asking, ...looking, waiting]) if (state === "rejected") understand(reason);
  await server.send("DEL", ...ends.map((one) => state + one));
}

/** Runs rounds for each key of a body, `atOnce` of them at a time. */
export async function hostileRounds(
  setup: Setup,
  body: HostileBody,
  rounds: number,
  seed: number,
  atOnce = 20,
): Promise<void> {
  const left = body.ends.flatMap((end, i) =>
    Array.from({ length: rounds }, (_, j) => ({ end, seed: seed + i * rounds + j }))
  );
  const failures: string[] = [];
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { end, seed } = next;
      await round(setup, body, end, seed).catch((error) => failures.push(`${end || "state"}, seed ${seed}: ${error}`));
    }
  }));
  assert.deepEqual(failures, []);
}
