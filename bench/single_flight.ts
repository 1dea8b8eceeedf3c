/** Calls that share a run, next to the way by hand: a Map of promises, as promise-inflight and p-memoize have. */
import type { Maker, Situation } from "./_situation.ts";

const CALLS = 50_000;
const SHARED = 100;

type Run = (key: number, fn: () => Promise<number>) => Promise<number>;

/** Rounds of calls, as many as share a run each time. */
function shared(make: () => Run): Maker {
  return () => {
    const run = make();
    return async () => {
      let runs = 0;
      const work = () => Promise.resolve(++runs);
      for (let i = 0; i < CALLS / SHARED; i++) {
        await Promise.all(Array.from({ length: SHARED }, () => run(i, work)));
      }
      if (runs !== CALLS / SHARED) throw new Error(`${runs} runs`);
    };
  };
}

/** Calls that share nothing: the cost of the sharing alone. */
function alone(make: () => Run): Maker {
  return () => {
    const run = make();
    const work = () => Promise.resolve(1);
    return async () => {
      for (let key = 0; key < CALLS; key++) await run(key, work);
    };
  };
}

/** Forgets a promise once it has settled. It has no signal, no time-out and no abort of the run. */
const mapOfPromises = (): Run => {
  const inFlight = new Map<number, Promise<number>>();
  return (key, fn) => {
    const known = inFlight.get(key);
    if (known !== undefined) return known;
    const result = Promise.resolve().then(fn).finally(() => inFlight.delete(key));
    inFlight.set(key, result);
    return result;
  };
};

const situation = (name: string, fill: (make: () => Run) => Maker): Situation => ({
  name: `single flight, ${name}`,
  unit: "ns",
  operations: CALLS,
  ours: {
    interlock: (lib) =>
      fill(() => {
        const flights = new lib.SingleFlight<number>();
        return (key, fn) => flights.run(key, fn);
      }),
  },
  peers: { "a Map of promises": fill(mapOfPromises) },
});

export const singleFlight: readonly Situation[] = [
  situation("100 calls share a run", shared),
  situation("no call shares a run", alone),
];
