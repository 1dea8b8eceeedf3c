/**
 * Random walks of a few processes over the scripts of a rate limit, on a network that loses and delays commands and
 * replies. In no window are there more starts than the limit, as far as the network tells the time, and each call ends.
 */
import assert from "node:assert/strict";
import { RedisRateLimiter } from "../../../lib/redis/mod.ts";
import { namespaceOf } from "../../../lib/redis/namespace.ts";
import { assertSoundSleepers } from "../../sound/redis/rate/start_call.ts";
import { test } from "../../_test.ts";
import {
  type FakeTime,
  flushMicrotasks,
  type Random,
  seeded,
  watch,
  type Watched,
  withFakeTime,
} from "../../_tools.ts";
import { Network, NetworkClient, withoutChance } from "./_network.ts";

const LIMIT = 4;
const INTERVAL = 400;
/** By which one reply may be slower than another, where there is no trouble, and the step of the clock. */
const JITTER = 30;

class Walk {
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #network: Network;
  readonly #clients: NetworkClient[];
  readonly #limiters: RedisRateLimiter[];
  readonly #calls: Watched<unknown>[] = [];
  #starts: number[] = [];

  constructor(random: Random, time: FakeTime) {
    this.#random = random;
    this.#time = time;
    this.#network = new Network(random);
    this.#clients = [1, 2, 3].map(() => new NetworkClient(this.#network));
    this.#limiters = this.#clients.map((client) => new RedisRateLimiter(client, "a", LIMIT, INTERVAL));
  }

  async run(steps: number): Promise<void> {
    this.#network.trouble = this.#random.pick([0, 0, 10]);
    for (let step = 0; step < steps; step++) {
      this.#call();
      if (this.#network.trouble === 0) this.#check();
      await this.#pass(this.#random.pick([0, 0, 50, 100, 1000]));
    }
    this.#network.trouble = 0;
    for (let round = 0; round < 100 && this.#calls.some(({ state }) => state === "pending"); round++) {
      await this.#pass(500);
    }
    assert.ok(this.#calls.every(({ state }) => state !== "pending"), "a call never ends");
    await this.#pass(6000); // late commands and their replies
    this.#starts = [];
    const last = Array.from({ length: 2 * LIMIT }, () => this.#start());
    await this.#pass(4 * INTERVAL);
    assert.ok(
      last.every(({ state }) => state === "fulfilled"),
      "what was given back, or is over, keeps nobody waiting",
    );
    this.#check();
  }

  #call(): void {
    const random = this.#random;
    if (random.below(5) === 0) {
      const started = random.pick(this.#limiters).tryAcquire();
      this.#calls.push(watch(started));
      started.then((has) => has && this.#starts.push(performance.now()), () => {});
      return;
    }
    if (random.below(8) === 0) {
      const limiter = random.pick(this.#limiters);
      const change = random.pick([
        () => limiter.block(random.below(INTERVAL)),
        () => limiter.penalty(random.below(LIMIT)),
      ]);
      this.#calls.push(watch(change()));
      return;
    }
    const controller = new AbortController();
    if (random.below(4) === 0) setTimeout(() => controller.abort(), random.below(INTERVAL));
    this.#start({
      signal: controller.signal,
      timeout: random.pick([0, 100, 1000, 10_000]),
      permits: 1 + random.below(2),
    });
  }

  #start(options: { permits?: number; signal?: AbortSignal; timeout?: number } = {}): Watched<unknown> {
    const call = this.#random.pick(this.#limiters).acquire(options);
    const watched = watch(call);
    this.#calls.push(watched);
    call.then(() => {
      for (let n = options.permits ?? 1; n > 0; n--) this.#starts.push(performance.now());
    }, () => {});
    return watched;
  }

  #check(): void {
    const starts = this.#starts.sort((a, b) => a - b);
    for (let i = LIMIT; i < starts.length; i++) {
      const span = starts[i]! - starts[i - LIMIT]!;
      assert.ok(span >= INTERVAL - JITTER, `${LIMIT + 1} starts within ${span} ms`);
    }
  }

  async #pass(ms: number): Promise<void> {
    await flushMicrotasks();
    await this.#time.pass(ms);
    for (const client of this.#clients) assertSoundSleepers(namespaceOf(client, "interlock:").store.rates);
  }
}

test("walk over a network: rate limiter: no more starts than the limit, and every call ends", () =>
  seeded(async (random) => {
    for (let walks = 0; walks < 8; walks++) {
      await withoutChance(random, () => withFakeTime((time) => new Walk(random, time).run(50)));
    }
  }));
