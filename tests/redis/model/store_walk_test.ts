/**
 * Random programs over the store in memory and over the scripts in a redis-server, by one clock: after each step both
 * have given the same answers and granted the same waiters, and show the same state.
 */
import assert from "node:assert/strict";
import type { Inspection } from "../../../lib/redis/inspect.ts";
import { keysOf, settingsOf } from "../../../lib/redis/options.ts";
import { EVERYTHING } from "../../../lib/redis/rw_lock.ts";
import { MemoryStore } from "../../../lib/redis/store/memory_store.ts";
import { RedisStore } from "../../../lib/redis/store/redis_store.ts";
import type { AcquireRequest, Store, StoredResource } from "../../../lib/redis/store/store.ts";
import { IDLE_KEPT } from "../../../lib/redis/times.ts";
import { deeply, seeded } from "../../_random.ts";
import { type FakeTime, flushMicrotasks, type Random, withFakeTime } from "../../_tools.ts";
import { redisTest } from "../_clients.ts";
import { ClockedRedis } from "./_clocked_redis.ts";
import { command } from "./_command.ts";

const TTLS = [1000, 3000, 90_000];
const LONGEST = 600_000;

const specOf = (kind: "lock" | "semaphore" | "rw", weight: number, limit: number, ttl = 1000): StoredResource => ({
  keys: keysOf("interlock:", kind, "a"),
  layout: kind === "lock" ? "lock" : "semaphore",
  settings: settingsOf({ ttl, ...ttl === 3000 && { owner: "checkout 7" } }),
  weight,
  limit,
});
const NAMES = [specOf("lock", 1, 1), specOf("semaphore", 1, 2), specOf("rw", 1, EVERYTHING)] as const;

/** A call, which may wait or hold. */
interface Client {
  readonly id: string;
  readonly spec: StoredResource;
  /** Whether it asks no more before its life ends. */
  readonly isDoomed: boolean;
  /** Whether its hold is renewed in time. */
  isRenewed: boolean;
  /** How often `extend()` has set its end. */
  number: number;
}

/** A store, and what its calls know of it. */
class Side {
  readonly store: Store;
  readonly server: ClockedRedis | undefined;
  readonly #clients: ReadonlyMap<string, Client>;
  readonly #messages: string[];
  /** When the first life ends, of names that have been asked for. */
  readonly endsIn = new Map<string, number>();
  readonly #positions = new Map<string, number>();
  /** The tokens of each name, as they were seen. */
  readonly #tokens = new Map(NAMES.map(({ keys }) => [keys[0], [0]]));

  constructor(clients: ReadonlyMap<string, Client>, server?: ClockedRedis) {
    this.#clients = clients;
    this.server = server;
    this.store = server === undefined ? new MemoryStore() : new RedisStore(server);
    this.#messages = server?.published ?? [];
  }

  /** On a server, the request may run twice, as after an answer that was lost. */
  async acquire(
    { id, spec }: Client,
    request: Pick<AcquireRequest, "waits" | "adopts">,
    twice: boolean,
  ): Promise<unknown> {
    const known = { kind: "", fence: 0, weight: 0, position: 0, differingLimit: 0 };
    for (let runs = twice && this.server ? 2 : 1; runs > 0; runs--) {
      const position = this.#positions.get(id) ?? 0;
      const granted = (fence: number) => void this.#messages.push(`${id} ${fence}`);
      const answer = await this.store.acquire({ ...request, id, spec, position, granted }, command());
      const differingLimit = known.differingLimit || answer.differingLimit || 0; // a second answer leaves it out
      Object.assign(known, answer, { differingLimit });
      this.endsIn.delete(spec.keys[0]);
      if (answer.kind !== "waiting") continue;
      if (request.waits) this.endsIn.set(spec.keys[0], answer.endsIn);
      if (answer.position > 0) this.#positions.set(id, answer.position);
      if (answer.unfinished) runs++;
    }
    await this.settle();
    const { kind, fence, weight, position, differingLimit } = known;
    if (kind === "granted") return { kind, rank: this.rankOf(spec.keys[0], fence), weight, differingLimit };
    return { kind, queued: position > 0, differingLimit };
  }

  /** The rank of a token. One that is new is larger than all before. */
  rankOf(key: string, token: number): number {
    const known = this.#tokens.get(key)!;
    if (token > known.at(-1)!) known.push(token);
    const rank = known.indexOf(token);
    assert.ok(rank >= 0, `${token} is not larger than the last token`);
    return rank;
  }

  readonly #granted: string[] = [];

  /** Waits for everything that follows from a request. */
  async settle(): Promise<void> {
    await flushMicrotasks();
    await this.server?.settled();
    for (const message of this.#messages.splice(0)) {
      const [id = "", token] = message.split(" ");
      const { keys: [key] } = this.#clients.get(id)!.spec;
      const known = this.#tokens.get(key)!.at(-1)!;
      // Another message only makes its waiter ask.
      if (Number(token) > known) this.#granted.push(`${key} ${id} ${this.rankOf(key, Number(token))}`);
    }
  }

  /** The calls that were granted by messages since the last time, in the order of each name. */
  granted(): string[] {
    const nameOf = (text: string) => text.split(" ")[0]!;
    return this.#granted.splice(0).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  }

  /** With tokens as their ranks, and whole milliseconds. */
  async inspect(spec: StoredResource): Promise<Inspection> {
    const { holders, waiters, ...rest } = await this.store.inspect(spec, command());
    const rounded = <T extends { since: number; expiresIn: number }>(one: T): T => {
      return { ...one, since: Math.round(one.since), expiresIn: Math.round(one.expiresIn) };
    };
    holders.sort((a, b) => a.fencingToken - b.fencingToken);
    return {
      ...rest,
      fence: this.rankOf(spec.keys[0], rest.fence),
      holders: holders.map((one) => {
        return { ...rounded(one), fencingToken: this.rankOf(spec.keys[0], one.fencingToken) };
      }),
      waiters: waiters.map(rounded),
    };
  }
}

class Walk {
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #clients = new Map<string, Client>();
  readonly #memory = new Side(this.#clients);
  readonly #redis: Side;
  /** The names that this walk uses, and their last inspections by their first keys. */
  readonly #names: readonly StoredResource[];
  readonly #shown = new Map<string, Inspection>();
  /** The names that were released by force. */
  readonly #freed = new Set<string>();
  readonly trail: string[] = [];

  constructor(random: Random, time: FakeTime, server: ClockedRedis) {
    this.#random = random;
    this.#time = time;
    this.#redis = new Side(this.#clients, server);
    this.#names = random.pick([NAMES, ...NAMES.map((name) => [name])]);
  }

  async run(steps: number): Promise<void> {
    const isCrowded = this.#names.at(-1) !== NAMES[0] && this.#random.below(5) === 0;
    if (isCrowded) await this.#crowd();
    for (let step = isCrowded ? steps * 3 / 4 : 0; step < steps; step++) await this.#step();
    await this.#end();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    await random.pick([
      () => this.#join([this.#newClient()]),
      () => this.#join([this.#newClient()]),
      () => this.#join([this.#newClient()], random.below(2) === 0),
      () => this.#ask(),
      () => this.#release(),
      () => this.#release(),
      () => this.#renew(),
      () => this.#adopt(),
      () => this.#adopt(),
      () => this.#renew(),
      () => this.#verify(),
      () => this.#pass(random.pick([1, 10, 250, 900])),
      () => this.#pass(random.pick([2500, 2500, 20_000, 61_000])),
      () => random.below(4) > 0 ? this.#pass(1) : this.#releaseAll(),
    ])();
  }

  #newClient(): Client {
    const random = this.#random;
    const [ttl, limit] = [random.pick(TTLS), 2 + random.below(2)];
    const [lock, semaphore, rw] = [
      specOf("lock", 1, 1, ttl),
      specOf("semaphore", 1 + random.below(limit), limit, ttl),
      specOf("rw", random.pick([1, 1, EVERYTHING]), EVERYTHING, ttl),
    ];
    const name = random.pick(this.#names);
    return this.#add(name === NAMES[0] ? lock : name === NAMES[1] ? semaphore : rw, random.below(4) === 0);
  }

  #add(spec: StoredResource, isDoomed = false): Client {
    const id = `process0${String(this.#clients.size).padStart(13, "0")}`;
    const client = { id, spec, isDoomed, isRenewed: this.#random.below(4) === 0, number: 0 };
    this.#clients.set(id, client);
    return client;
  }

  #all(state: "holders" | "waiters"): Client[] {
    return [...this.#shown.values()].flatMap((shown) => shown[state]).map(({ id }) => this.#clients.get(id)!);
  }

  /** A holder mostly, or a waiter, or one that is over. */
  #some(): Client | undefined {
    const groups = [this.#all("holders"), this.#all("holders"), this.#all("waiters"), [...this.#clients.values()]];
    const group = this.#random.pick(groups.filter(({ length }) => length > 0).concat([[]]));
    return group.length === 0 ? undefined : this.#random.pick(group);
  }

  async #join(clients: readonly Client[], waits = true, what = "joins"): Promise<void> {
    const [{ id, spec: { weight, limit, settings } } = this.#newClient()] = clients;
    const twice = this.#random.below(8) === 0;
    await this.#same(
      `${id} (${clients.length}) ${what} with ${weight} of ${limit} for ${settings.ttl}`,
      async (side) => {
        const answers: unknown[] = [];
        for (const client of clients) answers.push(await side.acquire(client, { waits }, twice));
        return answers;
      },
    );
  }

  /** More waiters than one run grants or finds dead, behind one holder. */
  async #crowd(): Promise<void> {
    const isDoomed = this.#random.below(2) === 0;
    const limit = this.#names.at(-1) === NAMES[2] ? EVERYTHING : this.#random.pick([3, 1000]);
    const spec = (weight: number, ttl: number) => specOf(limit === EVERYTHING ? "rw" : "semaphore", weight, limit, ttl);
    await this.#join([this.#add(spec(limit, 90_000))]);
    await this.#join(Array.from({ length: 250 }, () => this.#add(spec(1, isDoomed ? 1000 : 90_000), isDoomed)));
  }

  /** A waiter lives on; a holder that has not heard of its grant asks, too. */
  async #ask(): Promise<void> {
    const asking = [...this.#all("waiters"), ...this.#all("holders")].filter(({ number, spec }) =>
      number === 0 && spec.weight > 0
    );
    if (asking.length > 0) await this.#join([this.#random.pick(asking)], true, "asks");
  }

  /** A server also knows the last holder of a lock after its life, and the id that was released last. */
  async #release(client = this.#some()): Promise<void> {
    if (client === undefined) return;
    const { id, spec } = client;
    const isOver = ![...this.#all("holders"), ...this.#all("waiters")].includes(client);
    await this.#same(`${id} releases`, async ({ store, server }) => {
      const was = await store.release(spec, id, command(), false);
      if (server && was === "held") assert.equal(await store.release(spec, id, command(), false), "held");
      return isOver && was === "held" ? "unknown" : was;
    });
  }

  #several(): Client[] {
    const some = Array.from({ length: 1 + this.#random.below(4) }, () => this.#some());
    return [...new Set(some)].filter((one) => one !== undefined);
  }

  /** Several in one command: renewed, extended, or over; on a server, some commands also come late. */
  async #renew(clients = this.#several(), mayExtend = true): Promise<void> {
    const random = this.#random;
    const holds = clients.map((client) => {
      const { id, spec } = client;
      if (!mayExtend || random.below(2) === 0) return { id, spec, ttl: spec.settings.ttl, number: client.number };
      return { id, spec, ttl: random.pick([500, ...TTLS, LONGEST]), number: ++client.number };
    });
    if (holds.length === 0) return;
    const what = holds.map(({ id, ttl, number }) => `${id} for ${ttl} (${number})`).join(", ");
    await this.#same(`renews ${what}`, async ({ store, server }) => {
      const answer = await store.renew(holds, command());
      await store.wake?.(holds[0]!.spec);
      const late = holds.filter(({ number }, i) => number > 0 && answer[i] === "set");
      if (server && late.length > 0) {
        const answers = await store.renew(late.map((one) => ({ ...one, number: one.number - 1, ttl: 700 })), command());
        assert.deepEqual(answers, late.map(() => "late"));
      }
      return answer;
    });
  }

  async #adopt(): Promise<void> {
    const from = this.#some();
    if (from === undefined) return;
    const settings = settingsOf({ ttl: this.#random.pick(TTLS), owner: "another" });
    const client = this.#add({ ...from.spec, settings, weight: this.#random.pick([0, from.spec.weight, 1]) });
    const twice = this.#random.below(4) === 0;
    await this.#same(
      `${client.id} adopts ${from.id} with ${client.spec.weight} for ${settings.ttl}`,
      (side) => side.acquire(client, { waits: false, adopts: from.id }, twice),
    );
    if (this.#random.below(2) === 0) await this.#renew([client], false);
  }

  async #verify(): Promise<void> {
    const client = this.#some();
    if (client === undefined) return;
    const { id, spec } = client;
    await this.#same(
      `${id} verifies`,
      async ({ store }) => Math.round(Math.max(0, await store.verify(spec, id, command()))),
    );
  }

  async #releaseAll(): Promise<void> {
    const name = this.#random.pick(this.#names);
    this.#freed.add(name.keys[0]);
    await this.#same(`${name.keys[0]} is freed`, ({ store }) => store.releaseAll(name, command()));
  }

  /**
   * Lets time pass from one end of a life to the next. Waiters in memory do not die: those that ask no more are released
   * there, the last of the queue first, so that none is granted that ends as well. So none ends together with a holder.
   */
  async #pass(ms: number): Promise<void> {
    for (const until = performance.now() + ms;;) {
      const members = [...this.#shown.values()].flatMap(({ holders, waiters }) => [...holders, ...waiters]);
      const left = Math.min(...members.map(({ expiresIn }) => expiresIn));
      if (performance.now() + left > until) return await this.#passed(until - performance.now(), []);
      const ending = new Set(members.filter(({ expiresIn }) => expiresIn === left).map(({ id }) => id));
      const waiters = this.#all("waiters").filter(({ id }) => ending.has(id));
      const living = ending.size > waiters.length ? waiters : waiters.filter(({ isDoomed }) => !isDoomed);
      const renewed = this.#all("holders").filter(({ id, isRenewed }) => isRenewed && ending.has(id));
      if (living.length + renewed.length === 0) await this.#passed(left, waiters);
      else this.#time.advance(left - 1);
      if (living.length > 0) await this.#join(living, true, "asks in time");
      await this.#renew(renewed, false);
    }
  }

  async #passed(ms: number, died: readonly Client[]): Promise<void> {
    this.#time.advance(ms);
    for (const { id, spec } of died.toReversed()) await this.#memory.store.release(spec, id, command(), false);
    await this.#same(`${ms} ms pass, ${died.length} die`, async ({ store, server }) => {
      if (server) { for (const name of this.#names) await store.release(name, "", command(), false); }
    });
  }

  /** Everything ends by itself, and nothing is left. */
  async #end(): Promise<void> {
    for (const client of this.#all("waiters")) await this.#release(client);
    for (const client of this.#all("holders")) client.isRenewed = false;
    await this.#pass(LONGEST);
    await this.#pass(LONGEST + IDLE_KEPT + 1000);
    assert.deepEqual(await this.#redis.server!.keys(), []);
  }

  /** Does the same in both stores, and compares. */
  async #same(what: string, act: (side: Side) => Promise<unknown>): Promise<void> {
    this.trail.push(what);
    const [expected, actual] = [await act(this.#memory), await act(this.#redis)];
    assert.deepEqual(actual, expected);
    for (const side of [this.#memory, this.#redis]) await side.settle();
    assert.deepEqual(this.#redis.granted(), this.#memory.granted());
    for (const name of this.#names) await this.#compare(name);
  }

  async #compare(name: StoredResource): Promise<void> {
    const { ttl, fence, ...state } = await this.#memory.inspect(name);
    const { ttl: kept, fence: last, ...stored } = await this.#redis.inspect(name);
    assert.deepEqual(stored, state);
    if (fence > 0) assert.equal(last, fence); // else memory has dropped the name, which a server may keep for longer
    assert.ok(kept >= Math.round(ttl), `its data is kept for ${kept} ms, not for ${ttl}`);
    const { endsIn } = this.#redis;
    const lives = [...stored.holders, ...stored.waiters].map(({ expiresIn }) => expiresIn);
    const [soonest, first] = [endsIn.get(name.keys[0]), Math.min(...lives)];
    // A server still lists the lives of holds that a forced release has ended: a waiter may ask once too often.
    if (soonest !== undefined && this.#freed.has(name.keys[0])) assert.ok(soonest <= first);
    else if (soonest !== undefined) assert.equal(soonest, first);
    endsIn.delete(name.keys[0]);
    this.#shown.set(name.keys[0], { ...state, ttl, fence });
  }
}

redisTest("walk: the scripts do as the store in memory does", ({ server }) =>
  seeded(async (random) => {
    for (let program = deeply(24, 40); program > 0; program--) {
      await withFakeTime(async (time) => {
        const walk = new Walk(random, time, new ClockedRedis(server));
        await walk.run(40).catch((cause) => {
          throw new Error(`after ${walk.trail.slice(-40).join("; ")}`, { cause });
        });
      });
    }
  }), { timeout: 600_000 });
