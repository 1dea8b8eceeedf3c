/** Limited concurrency: a promise per call, a handle per call, and a map over an iterable. */
import { limitAsync } from "es-toolkit";
import fastq from "fastq";
import pLimit from "p-limit";
import { setImmediate } from "node:timers";
import pMap from "p-map";
import PQueue from "p-queue";
import type { Lib, Maker, Situation } from "../_situation.ts";

const CALLS = 20_000;
const ITEMS = 100_000;
const AT_ONCE = 10;

const work = (n: number): Promise<number> => Promise.resolve(n);
const items = Array.from({ length: ITEMS }, (_, n) => n);
const few = items.slice(0, CALLS);
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, n) => sum + n, 0);

function calls(make: () => (n: number) => Promise<number>): Maker {
  return () => {
    const call = make();
    return async () => check(sumOf(await Promise.all(few.map(call))), few);
  };
}

function check(sum: number, of: readonly number[]): void {
  if (sum !== sumOf(of)) throw new Error(`${sum} instead of ${sumOf(of)}`);
}

function mapOf(lib: Lib, ordered: boolean): Maker {
  return () => async () => {
    let sum = 0;
    for await (const n of new lib.Pool(AT_ONCE).map(items, work, { ordered })) sum += n;
    check(sum, items);
  };
}

const oneAtATime: Maker = () => async () => {
  let sum = 0;
  for (const n of few) sum += await work(n);
  check(sum, few);
};

/** Maps a list into an array, once by each contender. */
interface ArrayMapping {
  readonly list: readonly number[];
  readonly fn: (n: number) => number | Promise<number>;
  readonly atOnce: number;
}

function intoArray({ list, fn, atOnce }: ArrayMapping): Pick<Situation, "operations" | "ours" | "peers"> {
  return {
    operations: list.length,
    ours: {
      "interlock toArray": (lib) => () => async () =>
        check(sumOf(await new lib.Pool(atOnce).map(list, fn).toArray()), list),
    },
    peers: { "p-map": () => async () => check(sumOf(await pMap(list, fn, { concurrency: atOnce })), list) },
  };
}

const nextTurn = (n: number): Promise<number> => new Promise((resolve) => setImmediate(() => resolve(n)));
const sleep = (n: number, ms: number): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(n), ms));
const short = items.slice(0, 2000);
const uneven: ArrayMapping = { list: items.slice(0, 200), fn: (n) => sleep(n, n % 10 === 0 ? 40 : 2), atOnce: 8 };

const ARITY =
  "limitAsync wraps one function; here each call brings its own. Whether it takes the signal shows in its `length`, which " +
  "JavaScriptCore makes when it is first read: without reading it, `run` takes 0.6 of the time on Bun, as long as limitAsync. " +
  "But then every function would need an AbortController (600 ns there) or share one signal with others. On V8 memory " +
  "decides: a queued call has 760 bytes, as with limitAsync (and a closure of 90 in it, which the row adds), and copying " +
  "them is two thirds of the time on Node 20. Tried: a smaller asynchronous part, `catch` in place of `finally` (no " +
  "difference); `then` in place of an asynchronous function (440 bytes; 0.4 to 0.6 of the time on Node 20, 0.8 on Node 26 and Deno, " +
  "0.9 on Bun), but errors would not show their callers, on V8 those of the first turn, on Bun all.";
const WHY = "`for await` itself takes about a quarter of p-map's time over a hand-written iterator.";

export const pool: readonly Situation[] = [
  {
    name: "pool, 20,000 calls, 10 at a time",
    unit: "ns",
    operations: CALLS,
    main: true,
    ours: {
      interlock: (lib) =>
        calls(() => {
          const pool = new lib.Pool(AT_ONCE);
          return (n) => pool.run(() => work(n));
        }),
    },
    peers: {
      "es-toolkit limitAsync": calls(() => limitAsync(work, AT_ONCE)),
      "p-limit": calls(() => {
        const limit = pLimit(AT_ONCE);
        return (n) => limit(work, n);
      }),
      "p-queue": calls(() => {
        const queue = new PQueue({ concurrency: AT_ONCE });
        return (n) => queue.add(() => work(n)) as Promise<number>;
      }),
      "fastq (loses AsyncLocalStorage)": calls(() => {
        const queue = fastq.promise(work, AT_ONCE);
        return (n) => queue.push(n);
      }),
    },
    floors: { "await work(n), one at a time": oneAtATime },
    goals: [
      { against: "peer", ratio: 1.1, bun: 1, named: ["es-toolkit limitAsync"], why: ARITY },
      { against: "peer", ratio: 1.5, named: ["p-limit"] },
    ],
  },
  {
    name: "pool, 20,000 tasks, the producer held back",
    unit: "ns",
    operations: CALLS,
    ours: {
      createTask: (lib) => () => async () => {
        const pool = new lib.Pool(AT_ONCE);
        for (const n of few) await pool.createTask(() => work(n));
        await pool.join();
      },
    },
    peers: {
      "p-queue, onSizeLessThan": () => async () => {
        const queue = new PQueue({ concurrency: AT_ONCE });
        for (const n of few) {
          await queue.onSizeLessThan(1);
          void queue.add(() => work(n));
        }
        await queue.onIdle();
      },
    },
    floors: { "await work(n), one at a time": oneAtATime },
    goals: [{ against: "peer", ratio: 1 }],
  },
  {
    name: "map, 100,000 items, 10 at a time",
    unit: "ns",
    operations: ITEMS,
    main: true,
    ours: { "interlock map": (lib) => mapOf(lib, true), "interlock map, unordered": (lib) => mapOf(lib, false) },
    peers: {
      "p-map": () => async () => {
        check(sumOf(await pMap(items, work, { concurrency: AT_ONCE })), items);
      },
    },
    floors: {
      "for await over work(n), one at a time": () => async () => {
        let sum = 0;
        async function* results() {
          for (const n of items) yield work(n);
        }
        for await (const n of results()) sum += n;
        check(sum, items);
      },
    },
    goals: [{ against: "peer", ratio: 3, bun: 1.2, why: WHY }],
  },
  {
    name: "map into an array, 100,000 items, 10 at a time",
    unit: "ns",
    ...intoArray({ list: items, fn: work, atOnce: AT_ONCE }),
    goals: [{ against: "peer", ratio: 3, bun: 1.2 }, { against: "peer", ratio: 1.3, bun: 1.2, cold: true }],
  },
  {
    name: "map into an array, each item waits a turn (setImmediate), 10 at a time",
    unit: "ns",
    ...intoArray({ list: few, fn: nextTurn, atOnce: AT_ONCE }),
    goals: [{ against: "peer", ratio: 1 }],
  },
  {
    name: "map into an array, each item waits 1 ms, 100 at a time",
    unit: "ns",
    ...intoArray({ list: short, fn: (n) => sleep(n, 1), atOnce: 100 }),
    goals: [{ against: "peer", ratio: 1, why: "the timers take nearly all of the time" }],
  },
  {
    name: "map into an array, uneven work: 2 ms, every tenth item 40 ms, 8 at a time",
    unit: "µs",
    ...intoArray(uneven),
    goals: [{ against: "peer", ratio: 0.91 }],
  },
];
