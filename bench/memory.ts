/** The memory of a waiter with its promises and its queue entry, and of the primitives themselves. */
import process from "node:process";
import { Mutex as AsyncMutex } from "async-mutex";
import { Sema } from "async-sema";
import AwaitLock from "await-lock";
import type { Lib, Maker, Situation } from "./_situation.ts";

const COUNT = 100_000;

/** Bytes of the heap for each of many things that are kept. */
function each(make: () => (index: number) => unknown): Maker {
  const gc = (globalThis as { gc?: () => void }).gc ?? (() => {});
  return () => {
    const one = make();
    return () => {
      const kept = new Array<unknown>(COUNT).fill(undefined);
      gc();
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < COUNT; i++) kept[i] = one(i);
      gc();
      return Promise.resolve(Math.max(0, process.memoryUsage().heapUsed - before) / kept.length);
    };
  };
}

/** A waiter inside an async function. */
function waiting(make: () => () => Promise<unknown>): Maker {
  return each(() => {
    const acquire = make();
    void acquire();
    return async () => {
      await acquire();
    };
  });
}

function withSignal(wait: (signal: AbortSignal) => unknown): Maker {
  return each(() => {
    const signals = Array.from({ length: COUNT }, () => new AbortController().signal);
    return (index) => wait(signals[index]!);
  });
}

const waiters: readonly Situation[] = [{
  name: "memory per waiter",
  unit: "bytes",
  operations: 1,
  rounds: 1,
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
}, {
  name: "memory of a wait with a signal of its own",
  unit: "bytes",
  operations: 1,
  rounds: 1,
  ours: {
    interlock: (lib) => {
      const event = new lib.Event();
      return withSignal((signal) => event.wait({ signal }));
    },
  },
  peers: {},
  floors: { "one listener": withSignal((signal) => signal.addEventListener("abort", () => signal)) },
  goals: [{
    against: "value",
    ratio: 420,
    why:
      "the listener of the run-time alone (a floor below) is larger than that; our part of it is the size of a wait with " +
      "a time-out, 420 bytes.",
  }],
}];

function primitive(name: string, make: (lib: Lib) => () => unknown, goal: number): Situation {
  return {
    name: `memory of a ${name}`,
    unit: "bytes",
    operations: 1,
    rounds: 1,
    ours: { interlock: (lib) => each(() => make(lib)) },
    peers: {},
    goals: [{ against: "value", ratio: goal }],
  };
}

export const memory: readonly Situation[] = [
  ...waiters,
  primitive("Lock", ({ Lock }) => () => new Lock(), 155),
  primitive("Semaphore", ({ Semaphore }) => () => new Semaphore(1), 190),
  primitive("RwLock", ({ RwLock }) => () => new RwLock(), 300),
];
