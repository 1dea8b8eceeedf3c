/**
 * Seeded random walks: operations are applied one at a time to the real thing and to a plain model of what the contract
 * says, and both are compared after each. SEED=n repeats a walk.
 */
import assert from "node:assert/strict";
import {
  BoundedSemaphore,
  Condition,
  type Guard,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  RwLock,
  Semaphore,
} from "../mod.ts";
import type { WaitOptions } from "../mod.ts";
import { type Call, ModelQueue } from "./explore/_model_queue.ts";
import { assertSoundKeyedSemaphore } from "./sound/keyed_semaphore.ts";
import { CountingController, type FakeTime, flushMicrotasks, type Random, watch, type Watched } from "./_tools.ts";
import { register, STEPS } from "./_walk.ts";

/** Anything with permits, as a walk uses it; a mutex has one permit. */
interface Weighted {
  acquire(permits: number, options: WaitOptions | undefined): Promise<Guard>;
  tryAcquire(permits: number): Guard | undefined;
  /** The numbers of waiters and, if it is known, of free permits. */
  waiting(): number;
  free?(): number;
}

/** One acquisition, real and in the model. */
interface Claim extends Call {
  readonly watched: Watched<Guard>;
  readonly controller: CountingController | undefined;
}

/** A thing, its model, and everything that was ever asked of it. */
class Walk {
  readonly #thing: Weighted;
  readonly #model: ModelQueue;
  readonly #sizes: readonly number[];
  readonly #random: Random;
  readonly #time: FakeTime;
  readonly #shared: CountingController[] = [new CountingController(), new CountingController()];
  #now = 0;
  #count = 0;
  #claims: Claim[] = [];

  constructor(thing: Weighted, permits: number, sizes: readonly number[], random: Random, time: FakeTime) {
    this.#thing = thing;
    this.#model = new ModelQueue(permits);
    this.#sizes = sizes;
    this.#random = random;
    this.#time = time;
  }

  get #waiting(): readonly Claim[] {
    return this.#model.waiting as Call[] as Claim[];
  }

  get #holders(): readonly Claim[] {
    return this.#model.holders as Call[] as Claim[];
  }

  step(): void {
    const random = this.#random;
    const acts = [
      () => this.#acquire(undefined, Infinity),
      () => this.#acquire(new CountingController(), Infinity),
      () => this.#acquire(random.pick(this.#shared), random.pick([53, 97, Infinity])),
      () => this.#acquire(undefined, random.pick([0, 31, 53, 97])),
      () => this.#tryAcquire(),
      () => this.#release(),
      () => this.#release(),
      () => this.#release(),
      () => this.#releaseStale(),
      () => this.#abort(),
      () => this.#advance(random.below(5)),
    ];
    random.pick(acts)();
  }

  #acquire(controller: CountingController | undefined, timeout: number): void {
    const weight = this.#random.pick(this.#sizes);
    const options = controller || timeout < Infinity ? { signal: controller?.signal, timeout } : undefined;
    const claim = this.#claim(weight, watch(this.#thing.acquire(weight, options)), controller, timeout);
    this.#model.join(claim);
    if (timeout === 0) this.#model.cancel((call) => call === claim);
  }

  #tryAcquire(): void {
    const weight = this.#random.pick(this.#sizes);
    const guard = this.#thing.tryAcquire(weight);
    const fits = this.#model.waiting.length === 0 && weight <= this.#model.free;
    assert.equal(guard !== undefined, fits, "tryAcquire");
    if (guard === undefined) return;
    const watched = watch(Promise.resolve(guard));
    watched.value = guard; // known already, so that it can be released within this tick
    this.#model.join(this.#claim(weight, watched));
  }

  #claim(weight: number, watched: Watched<Guard>, controller?: CountingController, timeout = Infinity): Claim {
    const task = `${this.#count++}`;
    const deadline = this.#now + timeout;
    const claim: Claim = { task, weight, cancellable: true, deadline, outcome: "waits", watched, controller };
    this.#claims.push(claim);
    return claim;
  }

  #release(): void {
    const known = this.#holders.filter(({ watched }) => watched.value !== undefined);
    if (known.length === 0) return;
    const claim = this.#random.pick(known);
    claim.watched.value!.release();
    this.#model.leave(claim.task);
  }

  #releaseStale(): void {
    const stale = this.#claims.filter((claim) => claim.outcome === "granted" && !this.#holders.includes(claim));
    if (stale.length > 0) this.#random.pick(stale).watched.value![Symbol.dispose]();
  }

  #abort(): void {
    const controllers = this.#waiting.map((claim) => claim.controller).filter((one) => one !== undefined);
    if (controllers.length === 0) return;
    const controller = this.#random.pick(controllers);
    controller.abort();
    assert.equal(controller.listeners, 0);
    this.#model.cancel((call) => (call as Claim).controller === controller);
    const place = this.#shared.indexOf(controller);
    if (place >= 0) this.#shared[place] = new CountingController();
  }

  /** Waits end one by one, those that began first before others of the same moment. */
  #advance(steps: number): void {
    this.#time.advance(10 * steps);
    this.#now += 10 * steps;
    const due = this.#waiting.filter(({ deadline }) => deadline <= this.#now);
    for (const one of due.sort((a, b) => a.deadline - b.deadline)) this.#model.cancel((call) => call === one);
  }

  /** The counts agree at any time. */
  checkCounts(): void {
    assert.equal(this.#thing.waiting(), this.#waiting.length, "waiting");
    if (this.#thing.free) assert.equal(this.#thing.free(), this.#model.free, "free");
    for (const controller of this.#shared) {
      const waits = this.#waiting.some((claim) => claim.controller === controller);
      assert.equal(controller.listeners, waits ? 1 : 0, "one listener while a call waits");
    }
  }

  /** Once microtasks are through, so does what every single caller has seen. */
  async checkOutcomes(): Promise<void> {
    await flushMicrotasks();
    const seen = { waits: "pending", granted: "fulfilled", cancelled: "rejected" };
    const holders = new Set(this.#holders);
    for (const claim of this.#claims) {
      assert.equal(claim.watched.state, seen[claim.outcome]);
      if (claim.watched.value) assert.equal(claim.watched.value.held, holders.has(claim), "held");
    }
    const old = this.#claims.slice(0, -200).filter((claim) => claim.outcome === "waits" || holders.has(claim));
    this.#claims = [...this.#claims.slice(-200).filter(({ outcome }) => outcome !== "cancelled"), ...old];
  }

  async end(): Promise<void> {
    this.#advance(20);
    await this.checkOutcomes();
    while (this.#holders.length > 0) {
      this.#release();
      await flushMicrotasks();
    }
    this.checkCounts();
    assert.deepEqual([this.#waiting.length, this.#thing.waiting()], [0, 0]);
  }
}

function walk(
  name: string,
  make: () => { thing: Weighted; permits: number; sizes: readonly number[]; check?: () => void },
): void {
  register(name, async (random, time) => {
    const { thing, permits, sizes, check } = make();
    const line = new Walk(thing, permits, sizes, random, time);
    for (let step = 0; step < STEPS; step++) {
      line.step();
      line.checkCounts();
      check?.();
      if (random.below(3) > 0) await line.checkOutcomes();
    }
    await line.end();
    check?.();
  });
}

function ofSemaphore(semaphore: Semaphore): Weighted {
  return {
    acquire: (permits, options) =>
      options || permits > 1 ? semaphore.acquire({ permits, ...options }) : semaphore.acquire(),
    tryAcquire: (permits) => semaphore.tryAcquire(permits),
    waiting: () => semaphore.waiting,
    free: () => semaphore.value,
  };
}

const one = { permits: 1, sizes: [1] };

walk("Lock", () => {
  const lock = new Lock();
  const waiting = () => lock.waiting;
  return {
    thing: { acquire: (_, options) => lock.acquire(options), tryAcquire: () => lock.tryAcquire(), waiting },
    ...one,
  };
});

walk("Semaphore", () => ({ thing: ofSemaphore(new Semaphore(5)), permits: 5, sizes: [1, 1, 2, 5, 3] }));

walk("BoundedSemaphore", () => ({ thing: ofSemaphore(new BoundedSemaphore(3)), permits: 3, sizes: [1, 1, 2, 3] }));

walk("RwLock", () => {
  const lock = new RwLock();
  const most = 1_000_000; // more readers than a walk has
  const side = (permits: number) => permits === 1 ? lock.reader : lock.writer;
  let free = most;
  return {
    thing: {
      acquire: (permits, options) => side(permits).acquire(options),
      tryAcquire: (permits) => side(permits).tryAcquire(),
      waiting: () => lock.reader.waiting + lock.writer.waiting,
    },
    permits: free = most,
    sizes: [1, 1, 1, free],
    check: () => assert.ok(!(lock.reader.locked && lock.writer.locked), "readers xor a writer"),
  };
});

walk("KeyedMutex, one key", () => {
  const keys = new KeyedMutex<number>();
  return {
    thing: {
      acquire: (_, options) => keys.acquire(NaN, options),
      tryAcquire: () => keys.tryAcquire(NaN),
      waiting: () => keys.waiting(NaN),
      free: () => keys.locked(NaN) ? 0 : 1,
    },
    ...one,
    check: () => assert.equal(keys.size, keys.locked(NaN) ? 1 : 0),
  };
});

walk("KeyedSemaphore, one key", () => {
  const keys = new KeyedSemaphore<number>(3);
  return {
    thing: {
      acquire: (permits, options) => keys.acquire(NaN, { permits, ...options }),
      tryAcquire: (permits) => keys.tryAcquire(NaN, permits),
      waiting: () => keys.waiting(NaN),
      free: () => keys.value(NaN),
    },
    permits: 3,
    sizes: [1, 1, 2, 3],
    check: () => {
      assertSoundKeyedSemaphore(keys);
      assert.equal(keys.size, keys.value(NaN) < 3 ? 1 : 0);
    },
  };
});

register("KeyedMutex, many keys, holders that fail, wait and give up", async (random, time) => {
  const keys = new KeyedMutex<unknown>();
  const names = [NaN, "a", "b", {}, Symbol("s"), 0];
  const inside = new Map<unknown, number>();
  const open: (() => void)[] = [];
  const all: Promise<unknown>[] = [];
  for (let step = 0; step < STEPS; step++) {
    const key = random.pick(names);
    const controller = random.below(3) === 0 ? new AbortController() : undefined;
    const timeout = random.pick([0, 4, Infinity, Infinity]);
    const fails = random.below(4) === 0;
    const work = async () => {
      assert.equal(inside.get(key) ?? 0, 0, "two holders of one key");
      inside.set(key, 1);
      await new Promise<void>((resolve) => open.push(resolve));
      inside.set(key, 0);
      if (fails) throw new Error("work failed");
    };
    all.push(keys.run(key, work, { signal: controller?.signal, timeout }).catch(() => {}));
    if (random.below(2) === 0) controller?.abort();
    if (random.below(3) === 0) time.advance(1);
    if (random.below(2) === 0) open.splice(random.below(open.length + 1), 1)[0]?.();
    await flushMicrotasks();
    const held = names.filter((name) => keys.locked(name));
    assert.equal(keys.size, held.length);
    for (const name of names) assert.ok(keys.locked(name) || keys.waiting(name) === 0);
  }
  time.advance(10);
  while (keys.size > 0) {
    open.splice(0).forEach((finish) => finish());
    await flushMicrotasks();
  }
  await Promise.all(all);
});

register("Condition with notifications, aborts, time-outs and guards that are dropped", async (random, time) => {
  const lock = new Lock();
  const condition = new Condition(lock);
  let sleeping = 0, owed = 0, inside = 0;
  const outcomes = { woken: 0, gaveUp: 0, dropped: 0 };
  const all: Promise<void>[] = [];
  const sleeper = async () => {
    const guard = await lock.acquire();
    const controller = new AbortController();
    const how = random.below(5);
    const waiting = condition.wait({ signal: controller.signal, timeout: random.pick([3, 7, Infinity]) });
    sleeping++;
    if (how === 0) time.advance(1);
    if (how === 1) guard.release();
    if (how === 2) queueMicrotask(() => controller.abort());
    await waiting.then(() => (owed--, outcomes.woken++), () => how === 1 ? outcomes.dropped++ : outcomes.gaveUp++);
    sleeping--;
    assert.equal(guard.held, how !== 1);
    if (how === 1) return;
    assert.equal(++inside, 1, "two holders");
    await Promise.resolve();
    inside--;
    guard.release();
  };
  for (let step = 0; step < STEPS / 4; step++) {
    if (sleeping < 20) all.push(sleeper());
    await flushMicrotasks();
    if (random.below(3) === 0) time.advance(1);
    using _ = lock.tryAcquire() ?? await lock.acquire();
    const before = condition.waiting;
    const n = random.below(3);
    condition.notify(n);
    owed += before - condition.waiting;
    assert.equal(before - condition.waiting, Math.min(n, before));
  }
  await flushMicrotasks();
  using _ = lock.tryAcquire() ?? await lock.acquire();
  owed += condition.waiting;
  condition.notifyAll();
  _.release();
  await Promise.all(all);
  assert.equal(owed, 0, "every notification woke exactly one");
  assert.deepEqual([lock.locked, lock.waiting, condition.waiting, sleeping], [false, 0, 0, 0]);
  assert.ok(Object.values(outcomes).every((count) => count > 0), JSON.stringify(outcomes));
});
