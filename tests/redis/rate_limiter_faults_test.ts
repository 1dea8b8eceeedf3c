/**
 * RedisRateLimiter while answers get lost, callers give up, and the server's clock is set back: by the server's turns, no
 * window has more starts than the limit.
 */
import assert from "node:assert/strict";
import { type Backend, RedisRateLimiter, TimeoutError } from "../../lib/redis/mod.ts";
import { Random } from "../_tools.ts";
import { redisTest, until } from "./_clients.ts";
import { byClock, setClock } from "./faults/_clock.ts";
import { giveBack } from "../../lib/redis/rate/scripts.ts";

const [LIMIT, INTERVAL] = [5, 100];

redisTest("RedisRateLimiter: lost answers, give-ups and a clock set back give no start too many", async (setup) => {
  const { server, connect } = setup;
  const random = new Random(7);
  let clock = 0; // seconds
  const turns = new Set<number>(); // in µs of the limit's own time
  const watched = byClock(await connect());
  let inFlight = 0;
  const spy = (backend: Backend): Backend => ({
    ...backend,
    eval: async (source, keys, args) => {
      inFlight++;
      const answer = await backend.eval(source, keys, args).finally(() => inFlight--);
      const [code, , turn] = [answer].flat() as number[];
      if (source === giveBack.source) {
        if (code === 1) turns.delete(Number(args[1]));
      } else if (code === 1) {
        turns.add(turn!);
        if (random.below(8) === 0) throw new Error("Socket closed unexpectedly"); // the answer is lost
      }
      return answer;
    },
  });
  // A longer interval keeps the head, and with it the limit's own time, while no call is there.
  await new RedisRateLimiter(watched, "crawl", LIMIT, 60_000).acquire();
  const backends = [spy(watched)];
  for (let i = 0; i < 3; i++) backends.push(spy(byClock(await connect())));
  const limiters = backends.map((backend) => new RedisRateLimiter(backend, "crawl", LIMIT, INTERVAL));
  let [started, gaveUp] = [0, 0];
  const call = async (limiter: RedisRateLimiter) => {
    const timeout = 50 + random.below(2000);
    const signal = AbortSignal.timeout(20 + random.below(1000));
    await limiter.acquire(random.below(2) === 0 ? { timeout } : { signal }).then(() => started++, (error) => {
      assert.ok(error instanceof TimeoutError || error.name === "TimeoutError", String(error));
      gaveUp++;
    });
  };
  for (clock of [0, -1, -3600, -7200]) {
    await setClock(server, clock);
    await Promise.all(Array.from({ length: 60 }, (_, i) => call(limiters[i % 4]!)));
  }
  await until(() => inFlight === 0); // turns are given back in the background
  assert.ok(started > 20 && gaveUp > 20, `${started} ${gaveUp}`);
  const times = [...turns].sort((a, b) => a - b);
  for (let i = LIMIT; i < times.length; i++) {
    const apart = (times[i]! - times[i - LIMIT]!) / 1000;
    assert.ok(apart >= INTERVAL - 0.01, `${LIMIT + 1} starts within ${apart} ms`);
  }
});
