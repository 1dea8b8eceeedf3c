/** At most ten functions at a time: a promise for each call, a handle for each task, and a map over a list. */
import { type Lib, register, situation } from "./_situation.ts";
import { bareMap, BareSemaphore } from "./_floor.ts";

type Call = (n: number) => Promise<number>;
type MapAll = (list: readonly number[], fn: Call) => Promise<readonly number[]>;

const work: Call = (n) => Promise.resolve(n);

const bareCalls = (): Call => {
  const semaphore = new BareSemaphore(10);
  return (n) => semaphore.run(() => work(n));
};
const values = (results: readonly PromiseSettledResult<number>[]): number[] =>
  results.map((result) => result.status === "fulfilled" ? result.value : NaN);

const PEERS = ["pool", "calls"] as const;
const CALLS: readonly (readonly [string, row: string | undefined, (lib: Lib) => Call, typeof PEERS | undefined])[] = [
  ["calls at once", "a call through a pool of 10", ({ Pool }) => {
    const pool = new Pool(10);
    return (n) => pool.run(() => work(n));
  }, PEERS],
  [
    "calls of a wrapped function",
    "a call of a function that `pool.wrap` has made",
    ({ Pool }) => new Pool(10).wrap(work),
    PEERS,
  ],
  ["tasks with a handle each", undefined, ({ Pool }) => {
    const pool = new Pool(10);
    return async (n) => await (await pool.createTask(() => work(n))).result;
  }, undefined],
];

const MAPS: readonly (readonly [how: string, row: string | undefined, (lib: Lib) => MapAll, peers: string])[] = [
  [
    "",
    "an item of `pool.map`, 10 at a time",
    ({ Pool }) => (list, fn) => new Pool(10).map(list, fn).toArray(),
    "maps",
  ],
  [" by for await", undefined, ({ Pool }) => async (list, fn) => {
    const results: number[] = [];
    for await (const result of new Pool(10).map(list, fn)) results.push(result);
    return results;
  }, "loops"],
  [" in one call", undefined, ({ Pool }) => (list, fn) => Pool.map(list, 10, fn), "maps"],
  [" to settled results", undefined, ({ Pool }) => async (list, fn) => {
    return values(await Pool.map(list, 10, fn, { settled: true }));
  }, "settled"],
];

export const situations = await register([
  ...CALLS.map(([name, row, ours, peers]) =>
    situation<Call>({
      name: `pool of 10, 1,000 ${name}`,
      row,
      operation: "call",
      operations: 1000,
      main: name === "calls at once",
      ours,
      floor: bareCalls,
      peers,
      play: (work, call) => work.calls(call, 1000),
    })
  ),
  ...MAPS.map(([how, row, ours, peers]) =>
    situation<MapAll>({
      name: `map a list of 10,000${how}, 10 at a time`,
      row,
      operation: "item",
      operations: 10_000,
      main: how === "",
      ours,
      floor: () => (list, fn) => bareMap(list, fn, 10),
      peers: ["pool", peers],
      play: (work, map) => work.mapAll(map, 10_000),
    })
  ),
]);
