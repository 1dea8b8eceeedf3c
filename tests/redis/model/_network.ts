/**
 * Clients of one Redis in memory that runs the real scripts, on a network that a random source makes slow and lossy, under
 * the fake clock of a test. Commands of a client may overtake each other, as they can over a new connection.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  type Acquirable,
  type Backend,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  type RedisOptions,
  RedisRwLock,
  RedisSemaphore,
} from "../../../lib/redis/mod.ts";
import { adopt, renew, verify } from "../../../lib/redis/scripts/holds.ts";
import { inspect } from "../../../lib/redis/scripts/inspect.ts";
import { acquire, release } from "../../../lib/redis/scripts/state_machine.ts";
import { askAgain, change, giveBack, start } from "../../../lib/redis/rate/scripts.ts";
import { type Script, script } from "../../../lib/redis/scripts/script.ts";
import { type FakeTime, flushMicrotasks, type Random, seeded, watch, withFakeTime } from "../../_tools.ts";
import { reply } from "./_lua.ts";
import { MemoryRedis } from "./_redis.ts";

/** Digests come from the platform in a time of its own, which a fake clock does not wait for: these are made before. */
const scripts = [
  renew,
  verify,
  adopt,
  inspect,
  start,
  askAgain,
  giveBack,
  change,
  ...[acquire, release].flatMap(({ lock, semaphore }) => [lock, semaphore]),
];
for (const one of scripts) one.sha = digest(one.source);

function digest(source: string): string {
  return createHash("sha1").update(source).digest("hex");
}

/** Calls `fn` with ids and pauses that depend on the seed alone, so that a walk can be repeated. */
export async function withoutChance(random: Random, fn: () => Promise<void>): Promise<void> {
  const chance = Math.random;
  Math.random = () => random.below(2 ** 30) / 2 ** 30;
  const value = (bytes: Uint8Array) => bytes.map(() => random.below(256));
  Object.defineProperty(crypto, "getRandomValues", { value, configurable: true });
  try {
    await fn();
  } finally {
    Math.random = chance;
    delete (crypto as Partial<Crypto>).getRandomValues; // that of its prototype is left
  }
}

interface Subscriber {
  readonly client: NetworkClient;
  readonly onMessage: (message: string) => void;
}

export class Network {
  readonly random: Random;
  redis: MemoryRedis = new MemoryRedis();
  readonly #scripts = new Map<string, Script>();
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #epoch = 1_700_000_000_000_000;
  /** Of a hundred commands and messages, so many get lost or are very slow. */
  trouble = 0;

  constructor(random: Random) {
    this.random = random;
  }

  get cluster(): boolean {
    return false;
  }

  subscribe(channel: string, subscriber: Subscriber): void {
    this.#subscribers.set(channel, subscriber);
    this.redis.subscribers.add(channel);
  }

  unsubscribe(channel: string): void {
    this.#subscribers.delete(channel);
    this.redis.unsubscribe(channel);
  }

  /** The server has restarted without its data and its scripts. */
  restart(): void {
    this.redis.flush();
    this.#scripts.clear();
  }

  /** Runs a script now, and delivers what it publishes. */
  run(sha: string, source: string | undefined, keys: string[], args: string[]): unknown {
    if (source !== undefined) this.#scripts.set(sha, script(source));
    const known = this.#scripts.get(sha);
    if (known === undefined) throw new Error("NOSCRIPT No matching script.");
    this.redis.now = this.#epoch + Math.floor(performance.now() * 1000);
    const answer = this.reply(known, keys, args);
    for (const { channel, message } of this.redis.published.splice(0)) {
      const subscriber = this.#subscribers.get(channel);
      if (subscriber === undefined || subscriber.client.dead || this.isTroubled()) continue;
      setTimeout(() => !subscriber.client.dead && subscriber.onMessage(message), this.random.below(20));
    }
    return answer;
  }

  /** Runs a script on the server that has its keys. */
  protected reply(script: Script, keys: string[], args: string[]): unknown {
    return reply(this.redis, script, keys, args);
  }

  isTroubled(): boolean {
    return this.random.below(100) < this.trouble;
  }
}

export class NetworkClient implements Backend {
  readonly #network: Network;
  /** The process is gone: nothing it would send arrives. */
  dead = false;

  constructor(network: Network) {
    this.#network = network;
  }

  get cluster(): boolean {
    return this.#network.cluster;
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send(() => this.#network.run(sha, undefined, keys, args));
  }

  eval(source: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send(() => this.#network.run(digest(source), source, keys, args));
  }

  #send(run: () => unknown): Promise<unknown> {
    const { random } = this.#network;
    const [isLost, isSlow, loses] = [0, 1, 2].map(() => this.#network.isTroubled());
    const delays = [random.below(10) + (isSlow ? random.below(3000) : 0), random.below(10)];
    const breaks = random.below(2) === 0;
    return new Promise((resolve, reject) => {
      const lose = () => breaks && reject(new Error("Connection is closed."));
      setTimeout(() => {
        if (this.dead) return;
        if (isLost) return lose();
        let answer: unknown;
        let failure: unknown;
        try {
          answer = run();
        } catch (error) {
          failure = error;
        }
        setTimeout(() => {
          if (this.dead) return;
          if (loses) lose();
          else if (failure !== undefined) reject(failure);
          else resolve(answer);
        }, delays[1]);
      }, delays[0]);
    });
  }

  async subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Promise<() => void> {
    const network = this.#network;
    const pause = () => new Promise<void>((resolve) => setTimeout(resolve, network.random.below(30)));
    await pause();
    const subscriber = { client: this, onMessage };
    network.subscribe(channel, subscriber);
    let ended = false;
    /** Loses the connection for a while, sometimes without the server's knowledge. */
    const trouble = async () => {
      if (ended || this.dead) return;
      if (network.random.below(2) === 0) network.unsubscribe(channel);
      for (let round = network.random.below(40); round > 0; round--) await pause();
      if (ended || this.dead) return;
      network.subscribe(channel, subscriber);
      onGap();
    };
    this.troubles.add(trouble);
    return () => {
      ended = true;
      this.troubles.delete(trouble);
      network.unsubscribe(channel);
    };
  }

  /** What can befall its subscriptions. */
  readonly troubles: Set<() => Promise<void>> = new Set();
}

/** Everything that one call holds alone, under the same name. */
export const bodies: Readonly<Record<string, (backend: Backend, options?: RedisOptions) => Acquirable<Lease>>> = {
  lock: (backend, options) => new RedisLock(backend, "a", options),
  "keyed mutex": (backend, options) => new RedisKeyedMutex(backend, options).at("a"),
  semaphore: (backend, options) => new RedisSemaphore(backend, "a", 1, options),
  writer: (backend, options) => new RedisRwLock(backend, "a", options).writer,
};

export interface NetworkSetup<N extends Network> {
  readonly network: N;
  readonly time: FakeTime;
  pass(ms: number): Promise<void>;
  /** The values of promises that settle within some time. */
  values<T>(promises: readonly Promise<T>[], ms?: number): Promise<T[]>;
  value<T>(promise: Promise<T>, ms?: number): Promise<T>;
}

/** Calls `fn` with a network under a fake clock, for each seed. Then a minute passes, in which everything ends. */
export function onNetwork<N extends Network>(
  make: new (random: Random) => N,
  fn: (setup: NetworkSetup<N>) => Promise<void>,
): Promise<void> {
  return seeded((random) =>
    withoutChance(random, () =>
      withFakeTime(async (time) => {
        const pass = async (ms: number) => {
          await flushMicrotasks();
          await time.pass(ms);
        };
        const values = async <T>(promises: readonly Promise<T>[], ms = 1000) => {
          const watched = promises.map(watch);
          const isPending = () => watched.some(({ state }) => state === "pending");
          for (let passed = 0; passed < ms && isPending(); passed += 10) await pass(10);
          assert.equal(isPending(), false);
          return await Promise.all(promises);
        };
        const value = async <T>(promise: Promise<T>, ms?: number) => (await values([promise], ms))[0]!;
        await fn({ network: new make(random), time, pass, values, value });
        await time.pass(60_000, 100);
      }))
  );
}
