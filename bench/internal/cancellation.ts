/** Giving up: what it costs each waiter must not grow with their number. The floor is the bare AbortController. */
import { Mutex as AsyncMutex, withTimeout } from "async-mutex";
import PQueue from "p-queue";
import type { Lib, Maker, Situation } from "../_situation.ts";

function held(lib: Lib) {
  const lock = new lib.Lock();
  lock.tryAcquire();
  return lock;
}

/** Everybody waits with a signal of his own, and all are aborted. */
function ownSignals(waiters: number, make: () => (signal: AbortSignal) => Promise<unknown>): Maker {
  return () => {
    const wait = make();
    return async () => {
      let gone = 0;
      const controllers = Array.from({ length: waiters }, () => new AbortController());
      const all = controllers.map(({ signal }) => wait(signal).catch(() => gone++));
      for (const controller of controllers) controller.abort();
      await Promise.all(all);
      if (gone !== waiters) throw new Error(`${gone} gave up`);
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

export const giveUp: readonly Situation[] = [1000, 10_000, 100_000].flatMap((waiters): Situation[] => {
  const many = waiters.toLocaleString("en");
  return [
    {
      name: `giving up, ${many} waiters, a signal each`,
      unit: "ns",
      operations: waiters,
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
      goals: [{ against: "floor", ratio: 1.5 }],
    },
    {
      name: `giving up, ${many} waiters, one signal`,
      unit: "ns",
      operations: waiters,
      ours: {
        interlock: (lib) => () => {
          const lock = held(lib);
          const controller = new AbortController();
          const { signal } = controller;
          return async () => {
            const all = Array.from({ length: waiters }, () => lock.acquire({ signal }).catch(() => {}));
            controller.abort();
            await Promise.all(all);
            if (lock.waiting > 0) throw new Error("somebody still waits");
          };
        },
      },
      peers: {},
      floors: { "bare AbortController, one each": ownSignals(waiters, bare) },
      goals: [{ against: "floor", ratio: 1.5 }],
    },
    {
      name: `giving up, ${many} waiters, a time-out of 1 ms`,
      unit: "ns",
      operations: waiters,
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
