/**
 * Random programs of callers with different numbers over the scripts of a rate limit and over the store in memory, which
 * keeps plain objects: both answer alike, and in the window that ends with a turn there are as many starts as its caller
 * allows, at most.
 */
import assert from "node:assert/strict";
import { MemoryRates } from "../../../lib/redis/rate/memory_rates.ts";
import type { StartAnswer, StoredRate, Turn } from "../../../lib/redis/rate/rate_store.ts";
import { RedisRates } from "../../../lib/redis/rate/redis_rates.ts";
import type { Script } from "../../../lib/redis/scripts/script.ts";
import { deeply } from "../../_random.ts";
import { test } from "../../_test.ts";
import { type FakeTime, flushMicrotasks, Random, withFakeTime } from "../../_tools.ts";
import { command } from "./_command.ts";
import { reply } from "./_lua.ts";
import { MemoryRedis } from "./_redis.ts";

const KEYS = ["rate", "rate:starts"] as const;

interface Taken {
  readonly permits: number;
  readonly rate: StoredRate;
  readonly turns: readonly [redis: Turn, memory: Turn];
  /** By the fake clock, in ms. */
  at: number;
  back: boolean;
  /** Whether it was told to start. */
  made: boolean;
}

/** No more than each limit. */
function startsOf({ budgets = [] }: StoredRate, permits: number): number[] {
  return budgets.map(({ limit }) => Math.min(permits, limit));
}

/** Runs scripts on `redis`, after `before`. */
function runnerOf(redis: MemoryRedis, before: () => void): ConstructorParameters<typeof RedisRates>[0] {
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
  readonly #stores: readonly [RedisRates, MemoryRates];
  readonly #rates: readonly StoredRate[];
  readonly #taken: Taken[] = [];
  #isSettled: boolean;
  /** Whether calls ask again at their turns. */
  readonly #asks: boolean;
  readonly #hasBudgets: boolean;

  constructor(random: Random, time: FakeTime) {
    this.#random = random;
    this.#time = time;
    this.#hasBudgets = random.below(2) === 0;
    this.#asks = random.below(2) === 0;
    this.#isSettled = this.#asks || this.#hasBudgets;
    const runner = runnerOf(this.#redis, () => this.#redis.now = this.#zero + performance.now() * 1000);
    this.#stores = [new RedisRates(runner), new MemoryRates()];
    this.#rates = Array.from({ length: 1 + random.below(3) }, () => {
      const numbers = () => ({ limit: 1 + random.below(8), interval: 1 + random.below(60) });
      if (!this.#hasBudgets) return { keys: KEYS, ...numbers() };
      const kind = () => random.pick(["window", "bucket"] as const);
      const budgets = Array.from({ length: 1 + random.below(3) }, () => ({ kind: kind(), ...numbers() }));
      return { keys: KEYS, ...budgets[0]!, budgets };
    });
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#step();
      if (this.#asks) await this.#again();
      if (this.#random.below(3) === 0) this.#time.advance(this.#random.pick([1, 5, 40]));
      await flushMicrotasks();
    }
    if (!this.#isSettled) this.#assertWindows();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const rate = random.pick(this.#rates);
    const permits = 1 + random.below(rate.limit);
    const what = random.below(10);
    if (what < 5) await this.#start(rate, permits, random.pick([Infinity, Infinity, 30, 0]));
    else if (what === 5) await this.#start(rate, permits, -1);
    else if (what < 8) await this.#giveBack();
    else {
      const amount = 1 + random.below(12);
      const giant = 2 ** 40;
      const change = random.pick([{ reward: amount }, { penalty: amount }, { block: amount }, { penalty: giant }]);
      const each = (most = 0) => (rate.budgets ?? []).map(() => random.below(most + 1));
      const lists = { rewards: each(change.reward), penalties: each(change.penalty) };
      this.#isSettled ||= change.reward !== undefined;
      for (const store of this.#stores) await store.change(rate, { ...change, ...lists }, command());
    }
  }

  async #start(rate: StoredRate, permits: number, within: number): Promise<void> {
    const request = { spec: rate, permits, starts: startsOf(rate, permits), within };
    const [redis, memory] = await Promise.all(this.#stores.map((store) => store.start(request, command()))) as [
      StartAnswer,
      StartAnswer,
    ];
    if (redis.kind === "turn" && memory.kind === "turn") {
      this.#assertSame(redis.turn.wait, memory.turn.wait);
      const at = performance.now() + redis.turn.wait;
      this.#taken.push({
        permits,
        rate,
        turns: [redis.turn, memory.turn],
        at,
        back: false,
        made: redis.turn.wait === 0,
      });
    } else if (redis.kind === "later" && memory.kind === "later") {
      this.#assertSame(redis.wait, memory.wait);
      if (within < 0) assert.equal(redis.remaining, memory.remaining);
    } else assert.fail(`${redis.kind} ${redis.kind === "later" && redis.wait} ${memory.kind}`);
  }

  /**
   * To a µs, once turns move: a turn given back may keep its µs in one store, and a bucket's moments are fractions, which
   * each store rounds.
   */
  #assertSame(redis: number, memory: number): void {
    if (this.#isSettled) assert.ok(Math.abs(redis - memory) < 0.0015, `${redis} and ${memory}`);
    else assert.equal(redis, memory);
  }

  /** Calls whose turns have come ask again, sometimes late or twice. Both stores agree when they may start. */
  async #again(): Promise<void> {
    const due = this.#taken.filter(({ at, back, made }) => at <= performance.now() && !back && !made);
    for (const taken of due) {
      if (this.#random.below(4) === 0) continue;
      const { rate: spec, permits } = taken;
      const request = { spec, permits, starts: startsOf(spec, permits), within: Infinity };
      for (let times = this.#random.pick([1, 1, 2]); times > 0; times--) {
        const waits = await Promise.all(this.#stores.map(async (store, i) => {
          const answer = await store.again(request, taken.turns[i]!, command());
          return answer.kind === "turn" ? answer.turn.wait : assert.fail("refused");
        }));
        this.#assertSame(waits[0]!, waits[1]!);
        taken.made = waits[0] === 0;
        taken.at = performance.now() + waits[0]!;
        if (!taken.made) break; // in memory, the timer of a call that asks is trusted
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
        await store.giveBack(taken.rate, taken.turns[i]!);
      }
    }
  }

  #assertWindows(): void {
    const made = this.#taken.filter(({ back }) => !back);
    for (const [i, { at, rate: { limit, interval } }] of made.entries()) {
      const inside = made.slice(0, i + 1).filter((one) => one.at > at - interval);
      const starts = inside.reduce((sum, { permits }) => sum + permits, 0);
      assert.ok(starts <= limit, `${starts} of ${limit} starts within ${interval} ms before ${at}`);
    }
    for (let i = 1; i < made.length; i++) assert.ok(made[i]!.at >= made[i - 1]!.at, "in order");
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

test("a rate limit of which 500 sleepers give up from the first to the last is free again", () =>
  withFakeTime(async () => {
    const redis = new MemoryRedis();
    const rates = new RedisRates(runnerOf(redis, () => {}));
    const rate = { keys: KEYS, limit: 1, interval: 10 };
    const start = async (within: number) => await rates.start({ spec: rate, permits: 1, within }, command());
    const turns: Turn[] = [];
    for (let i = 0; i < 500; i++) {
      const answer = await start(Infinity);
      if (answer.kind === "turn") turns.push(answer.turn);
    }
    const [first, ...sleepers] = turns;
    for (const turn of sleepers) await rates.giveBack(rate, turn);
    assert.deepEqual([first!.wait, (await start(-1)).kind], [0, "later"]);
    assert.ok((await start(0) as { wait: number }).wait > 8); // each command has taken 1 µs of the 10 ms
    assert.equal(redis.call("LLEN", KEYS[1]), 2);
  }));

test("a start given back with more than 200 behind it counts until its turn, then it is free", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const rate = { keys: KEYS, limit: 1, interval: 10 };
  const start = async () => {
    const answer = await rates.start({ spec: rate, permits: 1, within: Infinity }, command());
    return answer.kind === "turn" ? answer.turn : assert.fail("no turn");
  };
  const turns: Turn[] = [];
  for (let i = 0; i < 222; i++) turns.push(await start());
  const stored = redis.call("LLEN", KEYS[1]);
  for (const back of [turns[20]!, turns[20]!]) await rates.giveBack(rate, back);
  assert.equal(redis.call("LLEN", KEYS[1]), stored); // those behind it are not rewritten
  await rates.giveBack(rate, turns[22]!);
  assert.ok(Number(redis.call("LLEN", KEYS[1])) < Number(stored));
  for (const back of turns.slice(21).reverse()) await rates.giveBack(rate, back);
  assert.equal(Math.round((await start()).wait), 200);
});

test("a rate limit keeps starts for the longest interval in use", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const [long, brief] = [1000, 10].map((interval) => ({ keys: KEYS, limit: 50, interval }));
  const start = (rate: StoredRate, within: number) => rates.start({ spec: rate, permits: 1, within }, command());
  for (let i = 0; i < 20; i++) await start(long!, 0);
  redis.now += 20_000;
  for (let i = 0; i < 8; i++) await start(brief!, 0);
  const [all, few] = [await start(long!, -1), await start(brief!, -1)];
  assert.deepEqual([all, few].map((answer) => answer.kind === "later" && answer.remaining), [22, 42]);
});

test("a start counts although all those before it have been dropped", async () => {
  const rate = { keys: KEYS, limit: 2, interval: 100 };
  for (let offset = 0; offset < 8; offset++) { // one call in eight drops what is over
    const redis = new MemoryRedis();
    redis.now += offset;
    const rates = new RedisRates(runnerOf(redis, () => {}));
    const start = (within: number) => rates.start({ spec: rate, permits: 1, within }, command());
    for (let i = 0; i < 8; i++) await start(Infinity); // until 300
    redis.now += 350_000;
    await start(Infinity); // at 400
    redis.now += 70_000;
    const answers = [await start(0), await start(0)]; // at 420, when the first eight are over
    assert.deepEqual(answers.map(({ kind }) => kind), ["turn", "later"]);
  }
});

test("a start that is given back twice takes none of another call with the same turn", async () => {
  const rates = new RedisRates(runnerOf(new MemoryRedis(), () => {}));
  const rate = { keys: KEYS, limit: 3, interval: 10 };
  const start = async () => {
    const answer = await rates.start({ spec: rate, permits: 1, within: Infinity }, command());
    return answer.kind === "turn" ? answer.turn : assert.fail("no turn");
  };
  const turns: Turn[] = [];
  for (let i = 0; i < 6; i++) turns.push(await start());
  for (let times = 0; times < 2; times++) await rates.giveBack(rate, turns[4]!);
  assert.deepEqual([(await start()).wait, (await start()).wait].map(Math.round), [10, 20]);
});

test("starts that are over keep no later start waiting once they are dropped", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const rate = { keys: KEYS, limit: 10, interval: 10 };
  const waits: number[] = [];
  for (let i = 0; i < 18; i++) {
    if (i === 8) redis.now += 5000;
    if (i === 9) redis.now += 6000; // the first eight are over
    const { wait } =
      (await rates.start({ spec: rate, permits: 1, within: Infinity }, command()) as { turn: Turn }).turn;
    waits.push(wait);
  }
  assert.ok(Number(redis.call("LLEN", KEYS[1])) < 36, "the first ones are dropped");
  assert.deepEqual(waits, Array(18).fill(0));
});

test("penalties alone keep no start that is over, and their count stays exact", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const rate = { keys: KEYS, limit: 10, interval: 10 };
  for (let i = 0; i < 600; i++) {
    redis.now += 1000;
    await rates.change(rate, { penalty: 2 ** 45 }, command());
    assert.ok(Number(redis.call("LLEN", KEYS[1])) <= 20, "a penalty each millisecond");
  }
  const waits: number[] = [];
  for (let i = 0; i < 4; i++) {
    const answer = await rates.start({ spec: rate, permits: 5, within: Infinity }, command());
    waits.push(answer.kind === "turn" ? answer.turn.wait : NaN);
  }
  assert.deepEqual(waits.map(Math.round), [10, 10, 20, 20]);
});

test("only calls that start count as callers with other numbers", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const [mine, theirs] = [5, 7].map((limit) => ({ keys: KEYS, limit, interval: 10 })) as [
    StoredRate,
    StoredRate,
  ];
  const start = (rate: StoredRate) => rates.start({ spec: rate, permits: 1, within: Infinity }, command());
  await start(mine);
  await rates.change(theirs, { penalty: 1 }, command());
  assert.equal((await start(mine)).other, undefined);
  assert.deepEqual((await start(theirs)).other, [{ kind: "window", limit: 5, interval: 10 }]);
});

test("the time of a rate limit goes on after the server's clock was set back", async () => {
  const redis = new MemoryRedis();
  const rates = new RedisRates(runnerOf(redis, () => {}));
  const rate = { keys: KEYS, limit: 1, interval: 10 };
  const wait = async () => {
    const answer = await rates.start({ spec: rate, permits: 1, within: Infinity }, command());
    return answer.kind === "turn" && Math.round(answer.turn.wait);
  };
  assert.equal(await wait(), 0);
  redis.now -= 5000;
  assert.equal(await wait(), 10);
  redis.now += 12_000;
  assert.equal(await wait(), 8);
});
