/**
 * Random walks of a few processes over the real scripts and the whole of the Redis classes, on a network that loses and
 * delays commands, replies and messages, while processes die. No two that exclude each other trust their holds at once,
 * fencing tokens grow, and when the trouble is over each call ends, and nothing is left.
 */
import assert from "node:assert/strict";
import { type Lease, RedisLock, RedisRwLock, RedisSemaphore } from "../../../lib/redis/mod.ts";
import { namespaceOf } from "../../../lib/redis/namespace.ts";
import type { WaitOptions } from "../../../mod.ts";
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
import { assertSoundNamespace } from "../../sound/redis/namespace.ts";

const TTL = 3000;
/** The longest time-out of a call. */
const LONGEST = 20_000;

/** A lease, and its part of a whole of which no more than 1 is held at any time. */
interface Kept {
  readonly lease: Lease;
  readonly part: number;
  readonly by: Process;
  /** It may have been ended by force, handed over or forgotten, and its holder need not know yet. */
  unsure: boolean;
}

interface Things {
  acquire(options: WaitOptions): { readonly leasing: Promise<Lease | undefined>; readonly part: number };
  forceRelease(): Promise<boolean>;
  adopt(id: string): Promise<Lease | undefined>;
}

interface Process extends Things {
  readonly client: NetworkClient;
}

interface Call {
  readonly watched: Watched<unknown>;
  readonly by: Process;
  readonly text: string;
}

type Kind = (client: NetworkClient, random: Random) => Things;

const options = (random: Random) => ({ ttl: TTL, renew: random.below(4) > 0 });

const kinds: Readonly<Record<string, Kind>> = {
  lock: (client, random) => {
    const lock = new RedisLock(client, "a", options(random));
    return {
      acquire: (options) => ({ leasing: random.below(4) > 0 ? lock.acquire(options) : lock.tryAcquire(), part: 1 }),
      forceRelease: () => lock.forceRelease(),
      adopt: (id) => lock.adopt(id),
    };
  },
  semaphore: (client, random) => {
    const semaphore = new RedisSemaphore(client, "a", 2, options(random));
    return {
      acquire: (options) => {
        const permits = 1 + random.below(2);
        return { leasing: semaphore.acquire({ ...options, permits }), part: permits / 2 };
      },
      forceRelease: () => semaphore.forceRelease(),
      adopt: (id) => semaphore.adopt(id),
    };
  },
  "read-write lock": (client, random) => {
    const table = new RedisRwLock(client, "a", options(random));
    return {
      acquire: (options) =>
        random.below(3) === 0
          ? { leasing: table.writer.acquire(options), part: 1 }
          : { leasing: table.reader.acquire(options), part: 1e-6 },
      forceRelease: () => table.forceRelease(),
      adopt: async (id) => await table.reader.adopt(id) ?? await table.writer.adopt(id),
    };
  },
};

/** For which a reply may be on its way: what is granted before may be told after a revocation. */
const ON_THE_WAY = 4000;

class Walk {
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #network: Network;
  readonly #make: Kind;
  readonly #processes: Process[];
  readonly #calls: Call[] = [];
  readonly #kept: Kept[] = [];
  #token = 0;

  constructor(random: Random, time: FakeTime, make: Kind) {
    this.#random = random;
    this.#time = time;
    this.#make = make;
    this.#network = new Network(random);
    this.#revokes = random.below(3) === 0;
    this.#processes = [1, 2, 3].map(() => this.#start());
  }

  #start(): Process {
    const client = new NetworkClient(this.#network);
    return { client, ...this.#make(client, this.#random) };
  }

  async run(steps: number): Promise<void> {
    this.#network.trouble = this.#random.pick([0, 2, 10]);
    for (let step = 0; step < steps; step++) {
      this.#step();
      this.#check();
      await this.#pass(this.#random.pick([0, 10, 10, 100, 1000]));
    }
    await this.#end();
  }

  #step(): void {
    const random = this.#random;
    const process = random.pick(this.#processes);
    const action = random.below(40) / 2;
    if (action < 9) this.#acquire(process);
    else if (action < 16) this.#release();
    else if (action < 17) void this.#held()?.lease.extend(random.pick([TTL, 2 * TTL])).catch(() => {});
    else if (action < 18) void this.#held()?.lease.verify().catch(() => {});
    else if (action < 18.5) this.#revoke(process);
    else if (action < 19) { for (const trouble of process.client.troubles) void trouble(); }
    else if (this.#network.trouble > 0 && random.below(4) === 0) {
      process.client.dead = true;
      this.#processes[this.#processes.indexOf(process)] = this.#start();
    }
  }

  #watch(call: Promise<unknown>, by: Process, text: string): void {
    this.#calls.push({ watched: watch(call), by, text });
  }

  #acquire(by: Process): void {
    const controller = new AbortController();
    const timeout = this.#random.pick([0, 200, 4000, LONGEST]);
    const { leasing, part } = by.acquire({ signal: controller.signal, timeout });
    this.#watch(leasing, by, `acquire ${part}, ${timeout}`);
    if (this.#random.below(6) === 0) setTimeout(() => controller.abort(), this.#random.below(2000));
    leasing.then((lease) => {
      if (lease === undefined || by.client.dead) return;
      const unsure = performance.now() < this.#unsureUntil;
      if (part === 1 && !unsure) assert.ok(lease.fencingToken > this.#token, "the token grows");
      this.#token = Math.max(this.#token, lease.fencingToken);
      this.#kept.push({ lease, part, by, unsure });
      this.#check();
    }, () => {}).catch((error) => this.#broken.push(error));
  }

  /** Ends holds by force, hands one over, or restarts the server without its data. */
  #revoke(by: Process): void {
    if (!this.#revokes) return;
    const unsure = () => {
      for (const kept of this.#kept) kept.unsure = true;
      this.#unsureUntil = performance.now() + ON_THE_WAY;
    };
    unsure();
    const held = this.#held();
    const action = this.#random.below(3);
    if (action === 0) return this.#network.restart();
    const revoking = action === 1 || held === undefined ? by.forceRelease() : by.adopt(held.lease.id);
    this.#watch(revoking, by, "revoke");
    revoking.then((lease) => {
      unsure();
      if (typeof lease === "object") this.#kept.push({ lease, part: held!.part, by, unsure: true });
    }, unsure);
  }

  readonly #revokes: boolean;
  #unsureUntil = -Infinity;
  readonly #broken: unknown[] = [];

  #held(): Kept | undefined {
    const held = this.#kept.filter(({ lease, by }) => !by.client.dead && lease.held);
    return held.length === 0 ? undefined : this.#random.pick(held);
  }

  #release(): void {
    const kept = this.#held();
    if (kept !== undefined) this.#watch(kept.lease.release(), kept.by, "release");
  }

  #check(): void {
    for (const { client } of this.#processes) assertSoundNamespace(namespaceOf(client, "interlock:"));
    let sum = 0;
    for (const { lease, part, unsure } of this.#kept) if (!unsure && lease.held) sum += part;
    assert.ok(sum <= 1, `${sum} of 1 is held`);
    for (const error of this.#broken) throw error;
  }

  async #pass(ms: number): Promise<void> {
    await flushMicrotasks();
    for (let passed = 0; passed < ms; passed += 10) {
      this.#time.advance(10);
      await flushMicrotasks();
      this.#check();
    }
  }

  /** The trouble is over: no call of a live process is left. */
  async #end(): Promise<void> {
    this.#network.trouble = 0;
    const pending = () => this.#calls.filter(({ watched, by }) => !by.client.dead && watched.state === "pending");
    for (let round = 0; round < 200 && pending().length > 0; round++) {
      for (let held = this.#held(), n = 0; held !== undefined && n < 9; held = this.#held(), n++) this.#release();
      await this.#pass(200);
    }
    assert.deepEqual(pending().map(({ text }) => text), [], "these calls never end");
    for (let n = 0; this.#held() !== undefined; n++) {
      assert.ok(n < 100);
      this.#release();
      await this.#pass(50);
    }
    await this.#pass(3 * TTL); // leases of the dead, and late commands
    const last = this.#start();
    const all = this.#make(last.client, this.#random);
    let lease: Lease | undefined;
    for (let tries = 0; lease === undefined && tries < 50; tries++) {
      const { leasing, part } = all.acquire({ timeout: TTL });
      const watched = watch(leasing);
      await this.#pass(100);
      if (part === 1) lease = watched.value as Lease | undefined;
      else void (watched.value as Lease | undefined)?.release();
      await this.#pass(100);
    }
    assert.ok(lease !== undefined, "the whole is free");
    void lease.release();
    for (const { lease } of this.#kept) if (lease.held) void lease.release().catch(() => {});
    await this.#time.pass(LONGEST + 4 * TTL, 50); // calls of the dead end, too
  }
}

for (const [name, make] of Object.entries(kinds)) {
  test(`walk over a network: ${name}: no two holders, and every call ends`, () =>
    seeded(async (random) => {
      for (let walks = 0; walks < 5; walks++) {
        await withoutChance(random, () => withFakeTime((time) => new Walk(random, time, make).run(60)));
      }
    }));
}
