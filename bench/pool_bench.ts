/** At most ten functions at a time: a promise for each call, a handle for each task, and a map over a list. */
import { type Lib, register, situation } from "./_situation.ts";
import { bareMap, BareSemaphore } from "./_floor.ts";

type Call = (n: number) => Promise<number>;
type MapAll = (list: readonly number[], fn: Call) => Promise<readonly number[]>;

const work: Call = (n) => Promise.resolve(n);
const timer: Call = (n) => new Promise((resolve) => setTimeout(() => resolve(n)));

const bareCalls = (): Call => {
  const semaphore = new BareSemaphore(10);
  return (n) => semaphore.run(() => work(n));
};
const toArray = ({ Pool }: Lib): MapAll => (list, fn) => new Pool(10).map(list, fn).toArray();
const floor = (): MapAll => (list, fn) => bareMap(list, fn, 10);

export const situations = await register([
  situation<Call>({
    name: "pool of 10, 1,000 calls at once",
    operation: "call",
    operations: 1000,
    main: true,
    ours: ({ Pool }) => {
      const pool = new Pool(10);
      return (n) => pool.run(() => work(n));
    },
    floor: bareCalls,
    peers: ["pool", "calls"],
    play: (work, call) => work.calls(call, 1000),
  }),
  situation<Call>({
    name: "pool of 10, 1,000 calls of a wrapped function",
    operation: "call",
    operations: 1000,
    ours: ({ Pool }) => new Pool(10).wrap(work),
    floor: bareCalls,
    peers: ["pool", "calls"],
    play: (work, call) => work.calls(call, 1000),
  }),
  situation<Call>({
    name: "pool of 10, 1,000 tasks with a handle each",
    operation: "task",
    operations: 1000,
    ours: ({ Pool }) => {
      const pool = new Pool(10);
      return async (n) => await (await pool.createTask(() => work(n))).result;
    },
    floor: bareCalls,
    play: (work, call) => work.calls(call, 1000),
  }),
  situation<MapAll>({
    name: "map a list of 10,000, 10 at a time",
    operation: "item",
    operations: 10_000,
    main: true,
    ours: toArray,
    floor,
    peers: ["pool", "maps"],
    play: (work, map) => work.mapAll(map, 10_000),
  }),
  situation<MapAll>({
    name: "map a list of 10,000 by for await, 10 at a time",
    operation: "item",
    operations: 10_000,
    ours: ({ Pool }) => async (list, fn) => {
      const results: number[] = [];
      for await (const result of new Pool(10).map(list, fn)) results.push(result);
      return results;
    },
    floor,
    play: (work, map) => work.mapAll(map, 10_000),
  }),
  situation<MapAll>({
    name: "map a list of 100 whose functions wait for a timer, 10 at a time",
    operation: "item",
    operations: 100,
    isSlow: true,
    ours: toArray,
    floor,
    peers: ["pool", "maps"],
    play: (work, map) => work.mapAll(map, 100, timer),
  }),
]);
