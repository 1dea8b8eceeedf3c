/** Items from producers to consumers: one at a time, and with many calls that wait at either end. */
import PQueue from "p-queue";
import type { Lib, Maker, Situation } from "./_situation.ts";

const TURNS = 50_000;

/** As the situations use a queue. */
interface Items {
  put(item: number): Promise<unknown>;
  get(): Promise<number>;
}

/** Fills a situation with a contender. */
type Fill = (make: () => Items) => Maker;

/** One producer and one consumer, each of which waits for the other at every item. */
const throughOne: Fill = (make) => () => {
  const queue = make();
  return async () => {
    const produce = async () => {
      for (let item = 0; item < TURNS; item++) await queue.put(item);
    };
    const producing = produce();
    for (let item = 0; item < TURNS; item++) if (await queue.get() !== item) throw new Error(`not ${item}`);
    await producing;
  };
};

/** As many getters wait before the first item comes, or as many putters before the first is taken, again and again. */
function allWait(waiting: number, gettersFirst: boolean): Fill {
  return (make) => () => {
    const queue = make();
    const getting: Promise<number>[] = new Array(waiting);
    const putting: Promise<unknown>[] = new Array(waiting);
    const get = () => {
      for (let i = 0; i < waiting; i++) getting[i] = queue.get();
    };
    return async () => {
      for (let turns = 0; turns < TURNS; turns += waiting) {
        if (gettersFirst) get();
        for (let item = 0; item < waiting; item++) putting[item] = queue.put(item);
        if (!gettersFirst) get();
        for (let item = 0; item < waiting; item++) if (await getting[item] !== item) throw new Error("out of order");
        for (let item = 0; item < waiting; item++) await putting[item];
      }
    };
  };
}

/** Items in a ring, from whose front they are taken in O(1). */
class Deque<T> {
  #slots: (T | undefined)[] = new Array(8);
  #first = 0;
  length = 0;

  push(item: T): void {
    const { length } = this.#slots;
    if (this.length === length) {
      this.#slots = Array.from({ length: 2 * length }, (_, i) => this.#slots[(this.#first + i) & (length - 1)]);
      this.#first = 0;
    }
    this.#slots[(this.#first + this.length++) & (this.#slots.length - 1)] = item;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#slots[this.#first];
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.length--;
    return item;
  }
}

const DONE = Promise.resolve();

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  /** For its end by `close`, which the situations do not call. */
  readonly reject: (reason: unknown) => void;
}

/**
 * With the complexity of the Channel of @std/async 1.5, which is not on npm: three rings, O(1) for each item, direct
 * hand-off, a node with both functions of its promise for each waiting call, one promise for all puts that need not wait.
 * There, a call that is cancelled takes O(n); nothing here is cancelled.
 */
class ChannelDouble implements Items {
  readonly #items = new Deque<number>();
  readonly #getters = new Deque<Waiting<number>>();
  readonly #putters = new Deque<Waiting<void> & { readonly item: number }>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  put(item: number): Promise<void> {
    const getter = this.#getters.shift();
    if (getter !== undefined) getter.resolve(item);
    else if (this.#items.length < this.#capacity) this.#items.push(item);
    else return new Promise((resolve, reject) => this.#putters.push({ item, resolve, reject }));
    return DONE;
  }

  get(): Promise<number> {
    if (this.#items.length === 0) {
      return new Promise((resolve, reject) => this.#getters.push({ resolve, reject }));
    }
    const item = this.#items.shift()!;
    const putter = this.#putters.shift();
    if (putter !== undefined) {
      this.#items.push(putter.item);
      putter.resolve();
    }
    return Promise.resolve(item);
  }
}

/** The floor where getters wait: their promises in a ring, without a capacity, an end or a cancellation. */
class BareGetters implements Items {
  readonly #getters = new Deque<(item: number) => void>();

  put(item: number): Promise<void> {
    this.#getters.shift()!(item);
    return DONE;
  }

  get(): Promise<number> {
    let resolve!: (item: number) => void;
    const item = new Promise<number>((settle) => resolve = settle);
    this.#getters.push(resolve);
    return item;
  }
}

/** A queue of functions in place of items: producers wait until less than one waits. */
const throughPQueue: Maker = () => async () => {
  const queue = new PQueue({ concurrency: 1 });
  let expected = 0;
  for (let item = 0; item < TURNS; item++) {
    await queue.onSizeLessThan(1);
    void queue.add(() => {
      if (item !== expected++) throw new Error(`not ${item}`);
    });
  }
  await queue.onIdle();
};

/** The way without a Queue: an array between two Conditions of one lock. */
class TwoConditions implements Items {
  readonly #items = new Deque<number>();
  readonly #capacity: number;
  readonly #filled;
  readonly #emptied;
  readonly #lock;

  constructor({ Condition, Lock }: Lib, capacity: number) {
    this.#capacity = capacity;
    this.#lock = new Lock();
    this.#filled = new Condition(this.#lock);
    this.#emptied = new Condition(this.#lock);
  }

  put(item: number): Promise<void> {
    return this.#lock.run(async () => {
      await this.#emptied.waitFor(() => this.#items.length < this.#capacity);
      this.#items.push(item);
      this.#filled.notify();
    });
  }

  get(): Promise<number> {
    return this.#lock.run(async () => {
      await this.#filled.waitFor(() => this.#items.length > 0);
      this.#emptied.notify();
      return this.#items.shift()!;
    });
  }
}

const WHY =
  "a floor stands in the way: bare promises in a ring, without a capacity, an end or a cancellation, take 0.9 to 0.95 of " +
  "the double's time with 1 or 100 getters, and 0.75 to 0.85 of ours. The rest of ours is a waiter that can leave in O(1). " +
  "With 10,000 the collector decides, and linked waiters are quicker than nodes in a ring. Tried: getters of the class of " +
  "guards (kept: 0.8 to 0.9); one promise for all puts that need not wait, as Channel has (kept: 0.79 to 0.98 one by one, " +
  "0.55 to 0.82 with 100 getters on Bun).";

interface Extras extends Pick<Situation, "peers"> {
  readonly floors?: Situation["floors"];
}

function situation(
  name: string,
  capacity: number,
  fill: Fill,
  { peers, floors = {} }: Extras = { peers: {} },
): Situation {
  return {
    name: `queue, ${name}, ${capacity === Infinity ? "unbounded" : `capacity ${capacity}`}`,
    unit: "ns",
    operations: TURNS,
    ours: {
      interlock: (lib) => fill(() => new lib.Queue<number>(capacity)),
      "two Conditions": (lib) => fill(() => new TwoConditions(lib, capacity)),
    },
    peers: { "double of @std/async Channel": fill(() => new ChannelDouble(capacity)), ...peers },
    floors,
    goals: [{ against: "peer", ratio: 1.2, why: WHY }],
  };
}

export const queue: readonly Situation[] = [
  situation("one producer and one consumer", 1, throughOne, { peers: { "p-queue, onSizeLessThan": throughPQueue } }),
  ...[1, 100, 10_000].flatMap((waiting) => {
    const getters = waiting === 1 ? "1 getter waits" : `${waiting.toLocaleString("en")} getters wait`;
    const gettersWait = allWait(waiting, true);
    const floors = { "bare promises of getters": gettersWait(() => new BareGetters()) };
    return [
      situation(getters, Infinity, gettersWait, { peers: {}, floors }),
      situation(getters, 1, gettersWait),
      situation(getters.replace("getter", "putter"), 1, allWait(waiting, false)),
    ];
  }),
];
