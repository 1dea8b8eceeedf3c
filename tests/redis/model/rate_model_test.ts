/**
 * Random programs of callers with different numbers over the scripts of a rate limit and over the store in memory, which
 * keeps plain objects: both answer alike, and in the window that ends with a turn there are as many starts as its caller
 * allows, at most.
 */
import assert from "node:assert/strict";
import type { Quota } from "../../../lib/internal/start_log.ts";
import { RateLimiter } from "../../../lib/rate_limiter.ts";
import type { RateStore, StartAnswer, StartRequest, StoredRate } from "../../../lib/redis/rate/rate_store.ts";
import { redisRates } from "../../../lib/redis/rate/redis_rates.ts";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { MemoryStore } from "../../../lib/redis/store/memory_store.ts";
import { deeply } from "../../_random.ts";
import { test } from "../../_test.ts";
import { type FakeTime, flushMicrotasks, Random, withFakeTime } from "../../_tools.ts";
import { command } from "./_command.ts";
import { reply } from "./_lua.ts";
import { MemoryRedis } from "./_redis.ts";

const KEYS = ["rate", "rate:starts"] as const;

interface Taken {
  readonly request: StartRequest;
  readonly turns: readonly [redis: number, memory: number];
  /** By the fake clock, in ms. */
  at: number;
  back: boolean;
  /** The turn at which it was told to start. */
  made: number | undefined;
}

/** No more than each limit. */
function startsOf({ budgets }: StoredRate, permits: number): number[] {
  return budgets.map(({ limit }) => Math.min(permits, limit));
}

/** Runs scripts on `redis`, after `before`. */
function runnerOf(redis: MemoryRedis, before: () => void): Parameters<typeof redisRates>[0] {
  return {
    run: (script: Script, keys: readonly string[], args: readonly string[]) => {
      before();
      return Promise.resolve(reply(redis, script, keys, args));
    },
  };
}

class Walk {
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #redis = new MemoryRedis();
  readonly #zero = this.#redis.now;
  readonly #stores: readonly [RateStore, RateStore];
  readonly #rates: readonly StoredRate[];
  readonly #taken: Taken[] = [];
  #isSettled = false;
  /** Whether calls ask again at their turns. */
  readonly #asks: boolean;
  readonly #hasBudgets: boolean;

  constructor(random: Random, time: FakeTime) {
    this.#random = random;
    this.#time = time;
    this.#hasBudgets = random.below(2) === 0;
    this.#asks = random.below(3) > 0;
    const runner = runnerOf(this.#redis, () => this.#redis.now = this.#zero + performance.now() * 1000);
    this.#stores = [redisRates(runner), new MemoryStore().rates];
    this.#rates = Array.from({ length: 1 + random.below(3) }, () => {
      const numbers = () => ({ limit: 1 + random.below(8), interval: 1 + random.below(60) });
      if (!this.#hasBudgets) return { keys: KEYS, budgets: [{ kind: "window", ...numbers() }] };
      const kind = () => random.pick(["window", "bucket"] as const);
      return {
        keys: KEYS,
        budgets: Array.from({ length: 1 + random.below(3) }, () => ({ kind: kind(), ...numbers() })),
      };
    });
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#step();
      if (this.#asks) await this.#again();
      if (this.#random.below(3) === 0) this.#time.advance(this.#random.pick([1, 5, 40]));
      await flushMicrotasks();
    }
    if (!this.#isSettled) this.#assertBounds();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const rate = random.pick(this.#rates);
    const permits = 1 + random.below(rate.budgets[0]!.limit);
    const what = random.below(10);
    if (what < 5) await this.#start(rate, permits, random.pick([Infinity, Infinity, 30, 0]));
    else if (what === 5) await this.#start(rate, permits, -1);
    else if (what < 8) await this.#giveBack();
    else {
      const most = random.pick([-12, 12, 2 ** 40]);
      const starts = rate.budgets.map(() => most < 2 ** 40 ? Math.sign(most) * random.below(13) : most);
      const change = random.pick([{ starts }, { starts }, { block: 1 + random.below(12) }]);
      this.#isSettled ||= "starts" in change && most < 0;
      for (const store of this.#stores) await store.change(rate, change, command());
    }
  }

  async #start(rate: StoredRate, permits: number, within: number): Promise<void> {
    const request = { spec: rate, starts: startsOf(rate, permits), within };
    const [redis, memory] = await Promise.all(this.#stores.map((store) => store.start(request, command()))) as [
      StartAnswer,
      StartAnswer,
    ];
    assert.equal(redis.wait, memory.wait);
    if (redis.number !== undefined && memory.number !== undefined) {
      const at = performance.now() + redis.wait;
      this.#taken.push({
        request: { ...request, within: Infinity },
        turns: [redis.number, memory.number],
        at,
        back: false,
        made: redis.wait === 0 ? redis.number : undefined,
      });
    } else {
      assert.equal(redis.number, memory.number, "one store refuses");
      if (within < 0) assert.equal(redis.remaining, memory.remaining);
    }
  }

  /** Calls whose turns have come ask again, sometimes late or twice. Both stores agree when they may start. */
  async #again(): Promise<void> {
    const due = this.#taken.filter(({ at, back, made }) => at <= performance.now() && !back && made === undefined);
    for (const taken of due) {
      if (this.#random.below(4) === 0) continue;
      for (let times = this.#random.pick([1, 1, 2]); times > 0; times--) {
        const waits = await Promise.all(this.#stores.map(async (store, i) => {
          const answer = await store.askAgain(taken.request, taken.turns[i]!, command());
          return answer.number === undefined ? assert.fail("refused") : answer.wait;
        }));
        assert.equal(waits[0], waits[1]);
        taken.at = performance.now() + waits[0]!;
        if (waits[0]! > 0) break; // in memory, the timer of a call that asks is trusted
        taken.made = this.#turnOf(taken.turns[0]);
      }
    }
  }

  /** Of a call that sleeps; sometimes twice. */
  async #giveBack(): Promise<void> {
    const sleeping = this.#taken.filter(({ at, back }) => at > performance.now() && !back);
    if (sleeping.length === 0) return;
    const taken = this.#random.pick(sleeping);
    taken.back = true;
    for (let times = this.#random.pick([1, 1, 2]); times > 0; times--) {
      for (const [i, store] of this.#stores.entries()) {
        await store.giveBack(taken.request, taken.turns[i]!);
      }
    }
  }

  #turnOf(number: number): number {
    const entries = (this.#redis.call("LRANGE", KEYS[1], "0", "-1") as string[]).map((text) => JSON.parse(text));
    const moved = entries.find(([turn, first]) => turn < 0 && first === number);
    return moved === undefined ? number : -moved[0];
  }

  /** In the window that ends with a start there are as many as its caller allows. Buckets: if all callers agree. */
  #assertBounds(): void {
    const made = this.#taken.filter((one) => one.made !== undefined).sort((a, b) => a.made! - b.made!);
    for (const [i, { made: turn, request: { spec } }] of made.entries()) {
      for (const [j, { kind, limit, interval }] of spec.budgets.entries()) {
        let starts = 0;
        for (const one of made.slice(0, i + 1).reverse()) {
          const age = (turn! - one.made!) / 1000;
          if (kind === "window" ? age >= interval : this.#rates.length > 1) break;
          starts += one.request.starts[j] ?? 0;
          const most = kind === "window" ? limit : limit + age * limit / interval + 1e-6;
          assert.ok(one.request.starts[j] === 0 || starts <= most, `${starts} of ${limit} within ${age} ms`);
        }
      }
    }
  }
}

test("walk: the scripts of a rate limit answer as the store in memory", async () => {
  for (let seed = 1; seed <= deeply(12, 120); seed++) {
    try {
      await withFakeTime((time) => new Walk(new Random(seed), time).run(80));
    } catch (error) {
      throw new Error(`failed with seed ${seed}`, { cause: error });
    }
  }
});

test("walk: a limiter over Redis allows what RateLimiter allows, after rewards and penalties of some of its budgets", async () => {
  for (let seed = 1; seed <= deeply(60, 1500); seed++) {
    await withFakeTime(async (time) => {
      const random = new Random(seed);
      const budgets = Array.from({ length: 1 + random.below(3) }, () => {
        return { limit: 1 + random.below(6), interval: 10_000, kind: random.pick(["window", "bucket"] as const) };
      });
      const local = new RateLimiter(budgets);
      const redis = new MemoryRedis();
      const zero = redis.now;
      const runner = runnerOf(redis, () => redis.now = zero + performance.now() * 1000);
      const spec: StoredRate = { keys: KEYS, budgets };
      const stores = [redisRates(runner), new MemoryStore().rates];
      const history: unknown[] = [budgets];
      for (let step = 0; step < 12; step++) {
        time.advance(random.pick([0, 0, 300, 2000]));
        const starts = budgets.map(({ limit }) => random.below(Math.min(4, limit + 1)));
        const what = random.pick(["tryAcquire", "tryAcquire", "reward", "penalty"] as const);
        if (starts.every((each) => each === 0)) continue;
        history.push(what, starts, performance.now());
        const started = local[what](starts);
        for (const store of stores) {
          if (what === "tryAcquire") {
            const { number } = await store.start({ spec, starts, within: 0 }, command());
            assert.equal(number !== undefined, started, JSON.stringify(history));
          } else {
            await store.change(spec, { starts: starts.map((each) => what === "reward" ? -each : each) }, command());
          }
        }
        const ones = budgets.map((_, i) => budgets.map((_, j) => Number(i === j)));
        for (const store of stores) {
          for (const one of ones) {
            const { wait, remaining } = await store.start({ spec, starts: one, within: -1 }, command());
            assert.ok(
              Math.abs(wait - local.retryAfter(one)) <= 1,
              JSON.stringify([...history, one, wait, local.retryAfter(one), stores.indexOf(store)]),
            );
            assert.equal(remaining, local.remaining, JSON.stringify(history));
          }
        }
      }
    });
  }
});

/** One caller's view of a rate limit in Redis: its calls take one start, or `permits`. */
function callerOf(budget: Quota, redis = new MemoryRedis()) {
  const rates = redisRates(runnerOf(redis, () => {}));
  const spec: StoredRate = { keys: KEYS, budgets: [budget] };
  const start = (within = Infinity, permits = 1) => rates.start({ spec, starts: [permits], within }, command());
  return {
    redis,
    start,
    wait: async (permits = 1) => Math.round((await start(Infinity, permits)).wait),
    turn: async () => (await start()).number ?? assert.fail("no turn"),
    giveBack: (number: number) => rates.giveBack({ spec, starts: [1], within: 0 }, number),
    penalize: (starts: number) => rates.change(spec, { starts: [starts] }, command()),
    /** How many entries are stored. */
    stored: () => Number(redis.call("LLEN", KEYS[1])),
  };
}

function windowOf(limit: number, interval: number): Quota {
  return { kind: "window", limit, interval };
}

test("a rate limit of which 250 sleepers give up from the first to the last is free again", async () => {
  const { start, giveBack, stored } = callerOf(windowOf(1, 10));
  const answers: StartAnswer[] = [];
  for (let i = 0; i < 250; i++) answers.push(await start());
  const [first, ...sleepers] = answers;
  for (const { number } of sleepers) await giveBack(number!);
  assert.deepEqual([first!.wait, (await start(-1)).number], [0, undefined]);
  assert.ok((await start(0)).wait > 8); // each command has taken 1 µs of the 10 ms
  assert.equal(stored(), 1);
});

test("a start given back with more than 200 behind it counts until its turn, then it is free", async () => {
  const { turn, wait, giveBack, stored } = callerOf(windowOf(1, 10));
  const turns: number[] = [];
  for (let i = 0; i < 222; i++) turns.push(await turn());
  const before = stored();
  for (const back of [turns[20]!, turns[20]!]) await giveBack(back);
  assert.equal(stored(), before); // those behind it are not rewritten
  await giveBack(turns[22]!);
  assert.ok(stored() < before);
  for (const back of turns.slice(21).reverse()) await giveBack(back);
  assert.equal(await wait(), 200);
});

test("a block moves 1,100 sleepers alike, and a penalty the last of them by its starts", async () => {
  const redis = new MemoryRedis();
  const rate: StoredRate = { keys: KEYS, budgets: [windowOf(2, 10)] };
  for (const store of [redisRates(runnerOf(redis, () => {})), new MemoryStore().rates]) {
    const start = (within: number) => store.start({ spec: rate, starts: [1], within }, command());
    for (let i = 0; i < 1102; i++) await start(Infinity);
    const before = (await start(-1)).wait;
    await store.change(rate, { block: 1000 }, command());
    const blocked = (await start(-1)).wait;
    assert.ok(Math.abs(blocked - before - 990) < 10, `${before} ${blocked}`);
    await store.change(rate, { starts: [1] }, command());
    const last = (await start(-1)).wait;
    assert.ok(last - blocked >= -10 && last - blocked <= 10, `${blocked} ${last}`);
  }
});

test("a bucket's start that comes too late for its caller is given back once, and a bucket keeps no list", async () => {
  const redis = new MemoryRedis();
  const rate: StoredRate = { keys: KEYS, budgets: [{ kind: "bucket", limit: 3, interval: 1e6 }] };
  for (const store of [redisRates(runnerOf(redis, () => {})), new MemoryStore().rates]) {
    const request = (within: number) => ({ spec: rate, starts: [1], within });
    const remaining = async () => (await store.start(request(-1), command())).remaining;
    const turns: number[] = [];
    for (let i = 0; i < 3; i++) turns.push((await store.start(request(0), command())).number!);
    assert.equal(await remaining(), 0);
    for (const back of [turns[1]!, turns[1]!]) await store.giveBack(request(0), back);
    assert.equal(await remaining(), 1);
  }
  assert.deepEqual(redis.keys, [KEYS[0]]);
});

test("a rate limit keeps starts for the longest interval in use", async () => {
  const long = callerOf(windowOf(50, 1000));
  const brief = callerOf(windowOf(50, 10), long.redis);
  for (let i = 0; i < 20; i++) await long.start(0);
  long.redis.now += 20_000;
  for (let i = 0; i < 8; i++) await brief.start(0);
  assert.deepEqual([(await long.start(-1)).remaining, (await brief.start(-1)).remaining], [22, 42]);
});

test("starts that are over keep no later start waiting once they are dropped", async () => {
  const { redis, start, stored } = callerOf(windowOf(10, 10));
  const waits: number[] = [];
  for (let i = 0; i < 18; i++) {
    if (i === 8) redis.now += 5000;
    if (i === 9) redis.now += 6000; // the first eight are over
    waits.push((await start()).wait);
  }
  assert.ok(stored() < 18, "the first ones are dropped");
  assert.deepEqual(waits, Array(18).fill(0));
});

test("penalties alone keep no start that is over, and their count stays exact", async () => {
  const { redis, wait, penalize, stored } = callerOf(windowOf(10, 10));
  for (let i = 0; i < 600; i++) {
    redis.now += 1000;
    await penalize(2 ** 40);
    assert.ok(stored() <= 20, "a penalty each millisecond");
  }
  assert.deepEqual([await wait(5), await wait(5), await wait(5), await wait(5)], [10, 10, 20, 20]);
});

test("only calls that start count as callers with other numbers", async () => {
  const mine = callerOf(windowOf(5, 10));
  const theirs = callerOf(windowOf(7, 10), mine.redis);
  await mine.start();
  await theirs.penalize(1);
  assert.equal((await mine.start()).differing, undefined);
  assert.deepEqual((await theirs.start()).differing, [windowOf(5, 10)]);
});

test("the time of a rate limit goes on after the server's clock was set back", async () => {
  const { redis, wait } = callerOf(windowOf(1, 10));
  assert.equal(await wait(), 0);
  redis.now -= 5000;
  assert.equal(await wait(), 10);
  redis.now += 12_000;
  assert.equal(await wait(), 8);
});
