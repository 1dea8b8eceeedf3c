/**
 * Cancellation: its cost for each waiter must not grow with their number, nor with the number of different time-outs. The
 * floor is the bare AbortController or setTimeout, or waiters with equal time-outs.
 */
import process from "node:process";
import { Mutex as AsyncMutex, withTimeout } from "async-mutex";
import PQueue from "p-queue";
import * as here from "../../mod.ts";
import type { Lib, Maker, Situation } from "../_situation.ts";

function held(lib: Lib) {
  const lock = new lib.Lock();
  lock.tryAcquire();
  return lock;
}

/** Every waiter has a signal of its own, and all are aborted. */
function ownSignals(waiters: number, make: () => (signal: AbortSignal) => Promise<unknown>): Maker {
  return () => {
    const wait = make();
    return async () => {
      let cancelled = 0;
      const controllers = Array.from({ length: waiters }, () => new AbortController());
      const all = controllers.map(({ signal }) => wait(signal).catch(() => cancelled++));
      for (const controller of controllers) controller.abort();
      await Promise.all(all);
      if (cancelled !== waiters) throw new Error(`${cancelled} were cancelled`);
    };
  };
}

const bare = () => (signal: AbortSignal): Promise<unknown> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

function byTimeout(waiters: number, make: () => () => Promise<unknown>): Maker {
  return () => {
    const wait = make();
    return async () => void await Promise.all(Array.from({ length: waiters }, () => wait().catch(() => {})));
  };
}

function roundsFor(waiters: number): number {
  return waiters < 100_000 ? 9 : 2;
}

const ENTRIES =
  "each signal has an entry in a WeakMap, which the collector visits. Tried: a private field or a symbol on the signal in " +
  "its place, 0.73 to 0.77 of the time on Deno with 100,000 signals (not kept: it changes objects of the caller, and an " +
  "earlier measurement saw a gain at that number only).";

const bySize: readonly Situation[] = [1000, 10_000, 100_000].flatMap((waiters): Situation[] => {
  const many = waiters.toLocaleString("en");
  return [
    {
      name: `cancelling, ${many} waiters, a signal each`,
      unit: "ns",
      operations: waiters,
      rounds: roundsFor(waiters),
      main: waiters === 10_000,
      ours: {
        interlock: (lib) =>
          ownSignals(waiters, () => {
            const lock = held(lib);
            return (signal) => lock.acquire({ signal });
          }),
      },
      peers: waiters > 10_000 ? {} : {
        "p-queue": ownSignals(waiters, () => {
          const queue = new PQueue({ concurrency: 1 });
          void queue.add(() => new Promise(() => {}));
          return (signal) => queue.add(() => Promise.resolve(), { signal });
        }),
      },
      floors: { "bare AbortController": ownSignals(waiters, bare) },
      goals: [{ against: "floor", ratio: 1.5, why: ENTRIES }],
    },
    {
      name: `cancelling, ${many} waiters, one signal`,
      unit: "ns",
      operations: waiters,
      rounds: roundsFor(waiters),
      ours: {
        interlock: (lib) => () => {
          const lock = held(lib);
          const controller = new AbortController();
          const { signal } = controller;
          return async () => {
            const all = Array.from({ length: waiters }, () => lock.acquire({ signal }).catch(() => {}));
            controller.abort();
            await Promise.all(all);
            if (lock.waiting > 0) throw new Error("a waiter is left");
          };
        },
      },
      peers: {},
      floors: { "bare AbortController, one each": ownSignals(waiters, bare) },
      goals: [{ against: "floor", ratio: 1.5 }],
    },
    {
      name: `cancelling, ${many} waiters, a time-out of 1 ms`,
      unit: "ns",
      operations: waiters,
      rounds: roundsFor(waiters),
      ours: {
        interlock: (lib) =>
          byTimeout(waiters, () => {
            const lock = held(lib);
            return () => lock.acquire({ timeout: 1 });
          }),
      },
      peers: waiters > 10_000 ? {} : {
        "async-mutex withTimeout": byTimeout(waiters, () => {
          const mutex = new AsyncMutex();
          void mutex.acquire();
          const timed = withTimeout(mutex, 1);
          return () => timed.acquire();
        }),
      },
      floors: {
        "bare setTimeout, one each": byTimeout(
          waiters,
          () => () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 1)),
        ),
      },
      goals: [{ against: "floor", ratio: 1.5 }],
    },
  ];
});

const WAITERS = 100_000;
const LONG = 600_000;

/** The time-outs of callers that each have a deadline of their own, in ms; `i` counts the callers. */
const different: Readonly<Record<string, (i: number) => number>> = {
  "in any order": (i) => LONG + (i * 7919) % 100_003,
  "each later than the one before": (i) => LONG + i,
  "each earlier than the one before": (i) => LONG - i,
};

/** Waiters join with time-outs, and are granted. The figure is the time to join and leave, or the bytes of waiting. */
function timed(lib: Lib, timeoutOf: (i: number) => number, figure: "ns" | "bytes"): Maker {
  const gc = (globalThis as { gc?: () => void }).gc ?? (() => {});
  return () => {
    const options = Array.from({ length: WAITERS }, (_, i) => ({ timeout: timeoutOf(i) }));
    const waits = new Array<Promise<unknown> | undefined>(WAITERS).fill(undefined);
    return async () => {
      const event = new lib.Event();
      if (figure === "bytes") gc();
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < WAITERS; i++) waits[i] = event.wait(options[i]);
      if (figure === "bytes") gc();
      const bytes = Math.max(0, process.memoryUsage().heapUsed - before) / WAITERS;
      event.set();
      await Promise.all(waits);
      return figure === "bytes" ? bytes : undefined;
    };
  };
}

const differentTimeouts: readonly Situation[] = (["ns", "bytes"] as const).map((unit) => ({
  name: unit === "ns"
    ? "waiting with a time-out, 100,000 waiters"
    : "memory of a wait with a time-out, 100,000 waiters",
  unit,
  operations: unit === "ns" ? WAITERS : 1,
  rounds: unit === "ns" ? 3 : 1,
  main: unit === "ns",
  ours: Object.fromEntries(
    Object.entries(different).map(([name, timeoutOf]) => [
      `interlock, different time-outs, ${name}`,
      (lib: Lib) => timed(lib, timeoutOf, unit),
    ]),
  ),
  peers: {},
  floors: { "interlock, equal time-outs": timed(here, () => LONG, unit) },
  goals: [{ against: "floor", ratio: 1.5 }, ...(unit === "bytes" ? [{ against: "value", ratio: 420 } as const] : [])],
}));

export const cancellation: readonly Situation[] = [...bySize, ...differentTimeouts];
