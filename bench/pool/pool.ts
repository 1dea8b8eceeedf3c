/** Limited concurrency: a promise per call, a handle per call, and a map over an iterable. */
import { limitAsync } from "es-toolkit";
import fastq from "fastq";
import pLimit from "p-limit";
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

const WHY =
  "a quarter of p-map's time is about what `for await` itself takes over a hand-written iterator. Back-pressure at " +
  "both ends costs a wake-up for every two items, fairness a place for each, and each function is awaited on its own. Tried: " +
  "`then` in place of `await`, a bare promise as the gate, larger bursts, workers that loop (slower), each 10 % at best.";

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
      { against: "peer", ratio: 1, named: ["es-toolkit limitAsync"] },
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
    goals: [{ against: "peer", ratio: 4, why: WHY }],
  },
];
