/** The memory of a waiter inside an async function, with its promises and its queue entry. */
import process from "node:process";
import { Mutex as AsyncMutex } from "async-mutex";
import { Sema } from "async-sema";
import AwaitLock from "await-lock";
import type { Maker, Situation } from "./_situation.ts";

const WAITERS = 100_000;

function waiting(make: () => () => Promise<unknown>): Maker {
  return () => {
    const acquire = make();
    const gc = (globalThis as { gc?: () => void }).gc ?? (() => {});
    return async () => {
      await acquire();
      const waiters = new Array<unknown>(WAITERS).fill(undefined);
      const waiter = async () => {
        await acquire();
      };
      gc();
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < WAITERS; i++) waiters[i] = waiter();
      gc();
      return Math.max(0, process.memoryUsage().heapUsed - before) / waiters.length;
    };
  };
}

export const memory: readonly Situation[] = [{
  name: "memory per waiter",
  unit: "bytes",
  operations: 1,
  ours: {
    interlock: (lib) =>
      waiting(() => {
        const lock = new lib.Lock();
        return () => lock.acquire();
      }),
  },
  peers: {
    "await-lock (hands out nothing)": waiting(() => {
      const lock = new AwaitLock();
      return () => lock.acquireAsync();
    }),
    "async-sema": waiting(() => {
      const sema = new Sema(1);
      return () => sema.acquire();
    }),
    "async-mutex": waiting(() => {
      const mutex = new AsyncMutex();
      return () => mutex.acquire();
    }),
  },
  floors: {
    "a bare promise": waiting(() => {
      let first = true;
      return () => new Promise<void>((resolve) => first ? (first = false, resolve()) : undefined);
    }),
  },
  goals: [{ against: "value", ratio: 650 }],
}];
