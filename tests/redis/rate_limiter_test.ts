/** RedisRateLimiter, on real servers and in memory: the window, order, give-up, disagreement, cost and keys. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { observe } from "../../lib/diagnostics/mod.ts";
import {
  type Backend,
  memoryBackend,
  RedisRateLimiter,
  type RedisRateLimiterWaitOptions,
  TimeoutError,
} from "../../lib/redis/mod.ts";
import { RateLimiter } from "../../mod.ts";
import { namespaceOf } from "../../lib/redis/namespace.ts";
import { rateKeysOf } from "../../lib/redis/options.ts";
import { test } from "../_test.ts";
import {
  deeply,
  deferred,
  type FakeTime,
  flushMicrotasks,
  Random,
  rejectsWith,
  watch,
  withFakeTime,
  withRunningTime,
} from "../_tools.ts";
import { eachClient, redisTest, until } from "./_clients.ts";
import { computeDigests } from "./_scripted.ts";
import type { Server } from "./_server.ts";
import { Warnings } from "./_warnings.ts";

/** The keys of the limiter "crawl". */
const [HEAD, STARTS] = rateKeysOf("interlock:", "crawl");

/** How many calls are listed on the server. */
async function listed(server: Server): Promise<number> {
  return Number(await server.send("LLEN", STARTS));
}

/** Makes calls by names, which it notes in the order of their starts. */
class Starts {
  readonly order: string[] = [];

  async call(
    limiter: Pick<RedisRateLimiter, "acquire">,
    name: string,
    options?: RedisRateLimiterWaitOptions,
  ): Promise<void> {
    await limiter.acquire(options);
    this.order.push(name);
  }
}

/** Turns are exact by the server's clock, and no answer is early: after each `limit` starts, an interval has passed. */
function assertWindows(begin: number, starts: readonly number[], limit: number, interval: number): void {
  for (const [i, start] of starts.entries()) {
    assert.ok(start - begin >= Math.floor(i / limit) * interval - 1, `start ${i} after ${start - begin} ms`);
  }
}

/** Registers a test for a server and for memory; `connect` is one more client, as another process has. */
function eachStore(name: string, fn: (backend: Backend, connect: () => Promise<Backend>) => Promise<void>): void {
  redisTest(name, ({ backend, connect }) => fn(backend, connect));
  test(`${name} (memory)`, () =>
    withRunningTime(() => {
      const backend = memoryBackend();
      return fn(backend, () => Promise.resolve(backend));
    }));
}

eachClient("RedisRateLimiter: no window has more starts than the limit, in order", async ({ backend }) => {
  const limiter = new RedisRateLimiter(backend, "crawl", 3, 100);
  const begin = performance.now();
  const starts: number[] = [];
  const order: number[] = [];
  await Promise.all(Array.from({ length: 10 }, async (_, i) => {
    await limiter.acquire();
    starts.push(performance.now());
    order.push(i);
  }));
  assertWindows(begin, starts, 3, 100);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(await limiter.run(() => 7), 7);
});

eachStore("RedisRateLimiter: members, keys, and console.log", async (backend) => {
  const limiter = new RedisRateLimiter(backend, "crawl", 2, 60_000);
  assert.deepEqual([limiter.name, limiter.limit, limiter.interval], ["crawl", 2, 60_000]);
  const [one, two] = [limiter.at("a"), limiter.at("b")];
  // @ts-expect-error: of a key it has none
  assert.equal(one.at, undefined);
  assert.deepEqual([one.name, one.limit, one.interval], ["crawl", 2, 60_000]);
  assert.equal(inspect(one), "RedisRateLimiter { name: 'crawl', key: 'a', limit: 2, interval: 60000 }");
  for (const each of [limiter, one, two]) {
    assert.equal(await each.retryAfter(), 0);
    assert.equal(await each.tryAcquire(2), true);
    assert.equal(await each.tryAcquire(), false);
    const rest = await each.retryAfter();
    assert.ok(rest > 50_000 && rest <= 60_000 && Number.isInteger(rest), `${rest}`);
  }
  assert.equal(await limiter.at("a").tryAcquire(), false); // the same key
  await assert.rejects(limiter.tryAcquire(3), RangeError);
  await assert.rejects(limiter.acquire({ permits: 0 }), RangeError);
  await assert.rejects(limiter.acquire({ permits: "1" as never }), TypeError);
  await assert.rejects(limiter.acquire({ timeout: NaN }), RangeError);
  await assert.rejects(limiter.run(5 as never), TypeError);
});

test("RedisRateLimiter: bad arguments", () => {
  const backend = memoryBackend();
  const make = (...args: unknown[]) => () => new RedisRateLimiter(...args as [Backend, string, number, number]);
  for (const args of [[{}, "a", 1, 1], [backend, 5, 1, 1], [backend, "a", "1", 1], [backend, "a", 1, "1"]]) {
    assert.throws(make(...args), TypeError);
  }
  for (const args of [["", 1, 1], ["a", 0, 1], ["a", 1.5, 1], ["a", 1, 0], ["a", 1, NaN], ["a", 1, Infinity]]) {
    assert.throws(make(backend, ...args), RangeError);
  }
  assert.throws(make(backend, "a", 1, 1, { prefix: "{" }), RangeError);
  assert.throws(make(backend, "a", 1, 1, 5), TypeError);
  assert.throws(() => new RedisRateLimiter(backend, "a", 1, 1).at(5 as never), TypeError);
});

eachStore(
  "RedisRateLimiter: a turn that comes after the timeout rejects at once, and uses nothing",
  async (backend) => {
    const limiter = new RedisRateLimiter(backend, "crawl", 1, 60_000);
    await limiter.acquire();
    const before = await limiter.retryAfter();
    const words = /^Cannot acquire rate limiter "crawl": timed out after 55000 ms; its turn would come after \d+ ms$/;
    // Close to the turn, since a time-out that is reckoned too long by the age of this process would go unseen.
    await assert.rejects(limiter.acquire({ timeout: 55_000 }), (error) => {
      return error instanceof TimeoutError && words.test(error.message);
    });
    await assert.rejects(limiter.acquire({ timeout: 0 }), TimeoutError);
    assert.ok(await limiter.retryAfter() <= before);
    await rejectsWith(limiter.acquire({ signal: AbortSignal.abort("gone"), timeout: 1 }), "gone");
  },
);

test("RedisRateLimiter: a call whose turn is now starts after those that still sleep, because their answers were late", () =>
  withFakeTime(async (time) => {
    const backend = memoryBackend();
    const { rates } = namespaceOf(backend, "interlock:").store;
    const start = rates.start.bind(rates);
    const late = deferred();
    let requests = 0;
    rates.start = async (...request) => {
      const isSleeper = [2, 3].includes(++requests);
      const answer = await start(...request);
      if (isSleeper) await late.promise;
      return answer;
    };
    const limiter = new RedisRateLimiter(backend, "crawl", 3, 300);
    await limiter.acquire({ permits: 3 });
    const starts = new Starts();
    for (const name of ["first", "second"]) void starts.call(limiter, name);
    await flushMicrotasks();
    time.advance(300); // by the store's clock, their turns have come
    late.resolve();
    await flushMicrotasks();
    assert.deepEqual(starts.order, []);
    void starts.call(limiter, "newcomer");
    await flushMicrotasks();
    assert.deepEqual(starts.order, ["first", "second", "newcomer"]);
  }));

const sleeping: Record<string, ConstructorParameters<typeof RedisRateLimiter>[2] & readonly unknown[]> = {
  "a window": [{ limit: 1, interval: 750 }],
  "a window and a bucket": [{ limit: 1, interval: 750 }, { limit: 5, interval: 500, kind: "bucket" }],
};
for (const [what, budgets] of Object.entries(sleeping)) {
  eachStore(
    `RedisRateLimiter: of three sleepers over ${what} the middle one gives up: the others keep their order`,
    async (backend) => {
      const limiter = new RedisRateLimiter(backend, "crawl", budgets);
      await limiter.acquire();
      const controller = new AbortController();
      const starts = new Starts();
      const first = starts.call(limiter, "first");
      const middle = starts.call(limiter, "middle", { signal: controller.signal });
      const last = starts.call(limiter, "last");
      await limiter.retryAfter(); // behind their commands, so that these have their turns
      controller.abort("enough");
      await rejectsWith(middle, "enough");
      await Promise.all([first, last, starts.call(limiter, "newcomer")]);
      assert.deepEqual(starts.order, ["first", "last", "newcomer"]);
    },
  );
}

eachStore(
  "RedisRateLimiter: callers that disagree are judged by their own numbers, with one warning",
  async (backend) => {
    using warnings = new Warnings();
    const name = `crawl ${Math.random()}`;
    const [two, three, brief] = [[2, 60_000], [3, 60_000], [2, 20]].map(([limit, interval]) =>
      new RedisRateLimiter(backend, name, limit!, interval!)
    ) as [RedisRateLimiter, RedisRateLimiter, RedisRateLimiter];
    assert.deepEqual([await two.tryAcquire(2), await two.tryAcquire()], [true, false]);
    assert.deepEqual(warnings.seen, []);
    assert.deepEqual([await three.remaining(), await three.tryAcquire(), await three.tryAcquire()], [1, true, false]);
    assert.deepEqual([await two.remaining(), await two.tryAcquire()], [0, false]);
    await brief.acquire({ timeout: 5000 }); // by its own interval, the window is over soon
    assert.ok(await two.retryAfter() > 50_000, "four starts in a minute");
    const words = `Callers of rate limiter "${name}" disagree: 3 in 60000 ms here, 2 in 60000 ms elsewhere. ` +
      "Each call is judged by its own.";
    assert.deepEqual(warnings.seen, [`INTERLOCK_REDIS_NUMBERS: ${words}`]);
  },
);

eachStore("RedisRateLimiter: callers of one name share the budgets on which they agree", async (backend) => {
  for (const kind of ["window", "bucket"] as const) {
    const first = { limit: 3, interval: 60_000, kind };
    const one = new RedisRateLimiter(backend, kind, 3, 60_000, { kind });
    const two = new RedisRateLimiter(backend, kind, [first, { limit: 100, interval: 60_000 }]);
    await one.acquire();
    await two.acquire({ permits: [1, 70] });
    assert.deepEqual([await one.remaining(), await two.remaining()], [1, 1]);
    assert.equal(await two.tryAcquire([1, 31]), false);
    await one.acquire();
    assert.equal(await two.tryAcquire([1, 30]), false);
    assert.equal(await two.tryAcquire([0, 30]), true);
    await one.block(1000);
    assert.equal(await two.remaining(), 0);
  }
});

eachStore("RedisRateLimiter: remaining, block, reward and penalty", async (backend) => {
  const limiter = new RedisRateLimiter(backend, "crawl", 3, 60_000).at("a");
  assert.equal(await limiter.remaining(), 3);
  await limiter.acquire({ permits: 2 });
  assert.equal(await limiter.remaining(), 1);
  await limiter.reward();
  assert.equal(await limiter.remaining(), 2);
  await limiter.penalty();
  assert.equal(await limiter.remaining(), 1);
  await limiter.penalty(5);
  for (const change of ["reward", "penalty"] as const) await limiter[change](0); // changes nothing
  assert.deepEqual([await limiter.remaining(), await limiter.tryAcquire()], [0, false]);
  await limiter.reward(100);
  assert.equal(await limiter.remaining(), 3, "never more than the limit allows");
  await limiter.block(100_000);
  await limiter.block(20);
  assert.deepEqual([await limiter.remaining(), await limiter.tryAcquire()], [0, false]);
  const wait = await limiter.retryAfter();
  assert.ok(wait > 60_000 && wait <= 100_000, `${wait}`);
  const brief = new RedisRateLimiter(backend, "crawl", 3, 60_000).at("b");
  const before = performance.now();
  await brief.block(50);
  await brief.acquire({ permits: 3 });
  assert.ok(performance.now() - before >= 49);
  for (const wrong of [-1, 1.5, NaN]) {
    await assert.rejects(limiter.reward(wrong), RangeError);
    await assert.rejects(limiter.penalty(wrong), RangeError);
  }
  for (const wrong of [-1, NaN, Infinity]) await assert.rejects(limiter.block(wrong), RangeError);
  await assert.rejects(limiter.block("1" as never), TypeError);
  await assert.rejects(limiter.reward("1" as never), TypeError);
});

test("RedisRateLimiter: errors say what was called", async () => {
  const fail = () => Promise.reject(new Error("ERR refused"));
  const limiter = new RedisRateLimiter({ evalsha: fail, eval: fail } as never, "api", 1, 1000);
  await assert.rejects(limiter.reward(), /^RedisError: Cannot reward rate limiter "api"/);
  await assert.rejects(limiter.penalty(), /^RedisError: Cannot penalize rate limiter "api"/);
});

/** Two processes with a limit of one start in a second, which one of them has made. */
async function pairOf(...backends: [Backend, Backend]): Promise<[one: RedisRateLimiter, other: RedisRateLimiter]> {
  const [one, other] = backends.map((backend) => new RedisRateLimiter(backend, "crawl", 1, 1000));
  await one!.acquire();
  return [one!, other!];
}

eachStore(
  "RedisRateLimiter: calls that sleep while another process blocks start after it, in order",
  async (backend, connect) => {
    const [one, other] = await pairOf(backend, await connect());
    const starts = new Starts();
    const calls: Promise<void>[] = [];
    for (const [limiter, name] of [[one, "a"], [other, "b"], [one, "c"]] as const) {
      calls.push(starts.call(limiter, name));
      await limiter.retryAfter(); // behind its command
    }
    const begin = performance.now();
    await other.block(1300);
    await calls[0];
    assert.ok(performance.now() - begin >= 1299, `after ${performance.now() - begin} ms`);
    calls.push(starts.call(other, "newcomer"));
    await Promise.all(calls);
    assert.deepEqual(starts.order, ["a", "b", "c", "newcomer"]);
    assert.ok(performance.now() - begin >= 4299);
  },
);

eachStore(
  "RedisRateLimiter: a call whose turn another process moves beyond its timeout uses nothing",
  async (backend, connect) => {
    const [one, other] = await pairOf(backend, await connect());
    const call = one.acquire({ timeout: 2500 });
    await one.retryAfter(); // behind its command
    await other.block(60_000);
    await assert.rejects(
      call,
      (error) => error instanceof TimeoutError && error.message.includes("its turn would come after"),
    );
    await until(async () => await one.retryAfter() <= 60_000);
  },
);

eachStore("RedisRateLimiter: a bucket allows a burst, then gives one permit back after the other", async (backend) => {
  const limiter = new RedisRateLimiter(backend, "bucket", 4, 800, { kind: "bucket" });
  assert.deepEqual([await limiter.remaining(), await limiter.tryAcquire(4), await limiter.tryAcquire()], [
    4,
    true,
    false,
  ]);
  const begin = performance.now();
  const starts: number[] = [];
  await Promise.all([1, 2, 3].map(() => limiter.acquire().then(() => starts.push(performance.now() - begin))));
  for (const [i, start] of starts.entries()) assert.ok(start >= 200 * (i + 1) - 100, `${starts}`);
  const slow = new RedisRateLimiter(backend, "slow", 4, 400_000, { kind: "bucket" }).at("a");
  await slow.acquire({ permits: 3 });
  await slow.reward(2);
  assert.equal(await slow.remaining(), 3);
  await slow.reward(100);
  assert.equal(await slow.remaining(), 4, "never more than the bucket holds");
  await slow.penalty(6);
  const wait = await slow.retryAfter();
  assert.ok(wait > 290_000 && wait <= 300_000, `${wait}`);
});

eachStore("RedisRateLimiter: a call takes from all budgets in one step, or from none", async (backend) => {
  const budgets = [{ limit: 2, interval: 60_000 }, { limit: 1000, interval: 120_000, kind: "bucket" }] as const;
  const model = new RedisRateLimiter(backend, "model", budgets);
  assert.deepEqual([model.limit, model.interval, await model.remaining()], [2, 60_000, 2]);
  for (const limiter of [model, model.at("a")]) {
    assert.equal(await limiter.tryAcquire([1, 600]), true);
    assert.equal(await limiter.tryAcquire([1, 600]), false);
    assert.equal(await limiter.remaining(), 1, "nothing was taken");
    await limiter.reward([0, 500]);
    await limiter.acquire({ permits: [1, 600] });
    const rest = await limiter.retryAfter([1, 0]);
    assert.ok(rest > 50_000 && rest <= 60_000, `${rest}`);
    assert.equal(await limiter.tryAcquire([0, 200]), true);
    await limiter.reward();
    assert.equal(await limiter.remaining(), 1);
    await limiter.penalty([1, 0]);
    assert.equal(await limiter.remaining(), 0);
    await limiter.block(300_000);
    assert.ok(await limiter.retryAfter([0, 1]) > 290_000);
  }
  for (const wrong of [[1], [0, 0], [3, 1], [1, 1001], [1, 1, 1], 3]) {
    await assert.rejects(model.tryAcquire(wrong as number[]), RangeError);
  }
  await assert.rejects(model.acquire({ permits: [1, "1"] as never }), TypeError);
  assert.throws(() => new RedisRateLimiter(backend, "a", []), RangeError);
  assert.throws(() => new RedisRateLimiter(backend, "a", 1, 1, { kind: "leaky" as never }), RangeError);
});

eachStore("RedisRateLimiter: callers with other budgets and kinds fail no call, with one warning", async (backend) => {
  using warnings = new Warnings();
  const name = `kinds ${Math.random()}`;
  const [bucket, two] = [
    new RedisRateLimiter(backend, name, 2, 60_000, { kind: "bucket" }),
    new RedisRateLimiter(backend, name, [{ limit: 3, interval: 60_000 }, { limit: 5, interval: 1000 }]),
  ];
  assert.deepEqual([await bucket.tryAcquire(2), await bucket.tryAcquire()], [true, false]);
  assert.deepEqual([await two.tryAcquire(2), await two.tryAcquire()], [false, true]);
  await two.penalty([1, 1]);
  await two.reward([1, 1]);
  assert.equal(await bucket.tryAcquire(), false);
  assert.equal(warnings.seen.length, 1);
  assert.match(warnings.seen[0]!, /disagree: 3 in 60000 ms, 5 in 1000 ms here, 2 in 60000 ms \(bucket\) elsewhere/);
});

for (const [kind, calls, most] of [["window", 1, 92], ["bucket", 2, 102]] as const) {
  redisTest(`RedisRateLimiter: the keys of a ${kind} are gone soon after its last start is over`, async (setup) => {
    const { server, backend } = setup;
    const limiter = new RedisRateLimiter(backend, "crawl", 5, 80, { kind });
    for (let i = 0; i < calls; i++) await limiter.acquire({ permits: 5 });
    for (const key of [HEAD, STARTS]) assert.ok(Number(await server.send("PTTL", key)) <= most);
    await until(async () => await server.send("EXISTS", HEAD, STARTS) === 0);
  });
}

redisTest(
  "RedisRateLimiter: one command for a call that starts at once, at most one more for one that slept",
  async ({ server, backend }) => {
    const limiter = new RedisRateLimiter(backend, "crawl", 2, 50);
    const calls = () => server.calls("evalsha", "eval", "publish", "subscribe");
    await Promise.all([limiter.acquire({ permits: 2 }), limiter.acquire()]); // which makes the scripts known
    await until(async () => await limiter.remaining() === 2);
    const before = await calls();
    await Promise.all([limiter.acquire(), limiter.acquire()]);
    assert.equal(await calls() - before, 2);
    await Promise.all(Array.from({ length: 8 }, () => limiter.acquire()));
    assert.ok(await calls() - before <= 2 + 2 * 8);
  },
);

redisTest("RedisRateLimiter: at most 16 bytes a call", async ({ server, backend }) => {
  const bytes = async () => {
    const [head, starts] = [HEAD, STARTS].map((key) => server.send("MEMORY", "USAGE", key, "SAMPLES", 0));
    return Number(await head) + Number(await starts);
  };
  const limiter = new RedisRateLimiter(backend, "crawl", 100_000, 3_600_000);
  await limiter.acquire();
  const one = await bytes();
  await limiter.acquire({ permits: 5000 });
  for (let i = 0; i < 1000; i++) limiter.acquire().catch(() => {}); // asleep at the end of the test
  await until(async () => await listed(server) >= 1002);
  const each = (await bytes() - one) / 1001;
  assert.ok(each <= 16, `${each} bytes a call`);
  assert.ok(one < 600, `${one} bytes`);
});

/** The moments at which calls start, of which the first are made between blocks and penalties. */
async function startsOf(limiter: RateLimiter | RedisRateLimiter, random: Random, time: FakeTime): Promise<number[]> {
  const begin = performance.now();
  const starts: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (let i = 0; i < 30; i++) {
    const [what, amount] = [random.below(10), 1 + random.below(2)];
    if (what === 0) void limiter.block(amount * 150);
    else if (what === 1) void limiter.penalty(amount);
    else calls.push(limiter.acquire({ permits: amount }).then(() => starts.push(performance.now() - begin)));
    await flushMicrotasks();
    await time.pass(random.pick([0, 37, 61]), 1);
  }
  await time.pass(15_000, 2);
  await Promise.all(calls);
  return starts;
}

test("RedisRateLimiter in memory: calls that sleep start as those of RateLimiter do, after blocks and penalties", async () => {
  for (let seed = 1; seed <= deeply(5, 60); seed++) {
    await withFakeTime(async (time) => {
      const random = new Random(seed);
      const budgets = Array.from({ length: 1 + random.below(2) }, () => {
        return { limit: 2 + random.below(4), interval: 400, kind: random.pick(["window", "bucket"] as const) };
      });
      const local = await startsOf(new RateLimiter(budgets), new Random(seed), time);
      const redis = await startsOf(new RedisRateLimiter(memoryBackend(), "crawl", budgets), new Random(seed), time);
      assert.equal(redis.length, local.length);
      for (const [i, start] of redis.entries()) {
        assert.ok(Math.abs(start - local[i]!) < 5, `seed ${seed}: ${JSON.stringify(budgets)}\n${local}\n${redis}`);
      }
    });
  }
});

redisTest(
  "RedisRateLimiter: a server at its maxmemory starts no call, and still answers",
  async ({ server, backend }) => {
    await server.send("CONFIG", "SET", "maxmemory", 1);
    for (const kind of ["window", "bucket"] as const) {
      const limiter = new RedisRateLimiter(backend, kind, 3, 60_000, { kind });
      await assert.rejects(limiter.acquire(), /^RedisError: Cannot acquire .*: Redis is out of memory \(maxmemory\)/);
      await assert.rejects(limiter.tryAcquire(), /out of memory/);
      assert.deepEqual([await limiter.remaining(), await limiter.retryAfter()], [3, 0]);
    }
    await server.send("CONFIG", "SET", "maxmemory", 0);
    assert.equal(await new RedisRateLimiter(backend, "window", 3, 60_000).tryAcquire(3), true);
  },
  { isAlone: true },
);

redisTest("RedisRateLimiter: a turn that was given back keeps no data", async ({ server, backend }) => {
  const limiter = new RedisRateLimiter(backend, "crawl", 1, 60_000);
  await limiter.acquire();
  const controller = new AbortController();
  const call = limiter.acquire({ signal: controller.signal });
  await until(async () => await listed(server) === 2);
  controller.abort();
  await assert.rejects(call);
  await until(async () => await listed(server) === 1);
  for (const key of [HEAD, STARTS]) assert.ok(Number(await server.send("PTTL", key)) <= 67_500);
});

test("RedisRateLimiter in memory: a call that an observer of its wait aborts leaves no timer", () =>
  withFakeTime(async (time) => {
    const limiter = new RedisRateLimiter(memoryBackend(), "crawl", 1, 60_000);
    await limiter.acquire();
    await flushMicrotasks();
    const before = time.timers;
    const controller = new AbortController();
    using _ = observe({ wait: () => controller.abort("given up") });
    await rejectsWith(limiter.acquire({ signal: controller.signal }), "given up");
    assert.equal(time.timers, before);
  }));

test("RedisRateLimiter: a second command that fails does not end the sleep until the turn that the first one has brought", () =>
  withFakeTime(async (time) => {
    await computeDigests();
    const replies = [deferred<unknown>(), deferred<unknown>(), deferred<unknown>()];
    let sent = 0;
    const run = () => replies[sent++]!.promise;
    const call = watch(new RedisRateLimiter({ evalsha: run, eval: run }, "crawl", 1, 20_000).acquire());
    await time.pass(5100, 50); // the first command has had its time
    assert.equal(sent, 2);
    replies[0]!.resolve([1, 10_000_000, 1]);
    await flushMicrotasks();
    replies[1]!.reject(new Error("Socket closed unexpectedly"));
    await time.pass(9900, 50);
    assert.deepEqual([call.state, sent], ["pending", 2]);
    replies[2]!.resolve([1, 0, 1]);
    await time.pass(200, 50);
    assert.deepEqual([call.state, sent], ["fulfilled", 3]);
  }));

test("RedisRateLimiter: a failure before a long sleep does not shorten the command at its turn", () =>
  withFakeTime(async (time) => {
    await computeDigests();
    let sent = 0;
    const run = async () => {
      if (++sent === 1) throw new Error("Socket closed unexpectedly");
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [1, sent === 2 ? 60_000_000 : 0, 7];
    };
    const limiter = new RedisRateLimiter({ evalsha: run, eval: run }, "crawl", 1, 100_000);
    const call = watch(limiter.acquire());
    await time.pass(40_000, 50);
    assert.deepEqual([call.state, sent], ["pending", 2]);
    await time.pass(30_000, 50);
    assert.deepEqual([call.state, sent], ["fulfilled", 3], String(call.reason));
  }));
