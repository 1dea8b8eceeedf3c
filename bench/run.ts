/** `run`: a function under a lock, a key or a permit; the peers' ways of doing the same, and our own guard by hand. */
import AsyncLock from "async-lock";
import { Mutex as AsyncMutex, Semaphore as AsyncSemaphore } from "async-mutex";
import { Mutex as EsToolkitMutex, Semaphore as EsToolkitSemaphore } from "es-toolkit";
import pLimit from "p-limit";
import type { Lib, Maker, Situation } from "./_situation.ts";

const TURNS = 100_000;
const KEYS = 100;

/** Calls `fn` once while holding something of this key. */
type Run = (fn: () => unknown, key: number) => Promise<unknown>;

const functions: Readonly<Record<string, () => unknown>> = {
  "a synchronous function": () => {},
  "an async function": async () => await Promise.resolve(),
};

function playing(make: () => Run, fn: () => unknown, tasks: number): Maker {
  return () => {
    const run = make();
    let calls = 0;
    const counted = () => {
      calls++;
      return fn();
    };
    const task = async (key: number) => {
      for (let i = TURNS / tasks; i > 0; i--) await run(counted, key);
    };
    return async () => {
      calls = 0;
      await Promise.all(Array.from({ length: tasks }, (_, index) => task(index % KEYS)));
      if (calls !== TURNS) throw new Error(`${calls} calls instead of ${TURNS}`);
    };
  };
}

/** `run` by hand, for peers that have only acquire and release. */
function byHand(thing: { acquire(): Promise<unknown>; release(): void }): Run {
  return async (fn) => {
    await thing.acquire();
    try {
      return await fn();
    } finally {
      thing.release();
    }
  };
}

function byGuard(acquire: (key: number) => Promise<{ release(): void }>): Run {
  return async (fn, key) => {
    const guard = await acquire(key);
    try {
      return await fn();
    } finally {
      guard.release();
    }
  };
}

interface Kind {
  readonly name: string;
  readonly tasks: number;
  readonly ours: Readonly<Record<string, (lib: Lib) => Run>>;
  readonly peers: Readonly<Record<string, () => Run>>;
  readonly goals: Situation["goals"];
}

const LOCK: Omit<Kind, "name" | "tasks"> = {
  ours: {
    "interlock run": (lib) => {
      const lock = new lib.Lock();
      return (fn) => lock.run(fn);
    },
    "interlock guard by hand": (lib) => {
      const lock = new lib.Lock();
      return byGuard(() => lock.acquire());
    },
  },
  peers: {
    "async-mutex runExclusive": () => {
      const mutex = new AsyncMutex();
      return (fn) => mutex.runExclusive(fn);
    },
    "async-lock": () => {
      const lock = new AsyncLock();
      return (fn) => lock.acquire("key", fn);
    },
    "es-toolkit by hand": () => byHand(new EsToolkitMutex()),
    "p-limit(1)": () => {
      const limit = pLimit(1);
      return (fn) => limit(fn);
    },
  },
  goals: [{ against: "peer", ratio: 2.5, named: ["p-limit(1)"] }],
};

const kinds: readonly Kind[] = [
  { ...LOCK, name: "lock.run, free", tasks: 1 },
  { ...LOCK, name: "lock.run, 100 tasks", tasks: 100 },
  {
    name: `keyed.run, ${KEYS} hot keys, 1,000 tasks`,
    tasks: 1000,
    ours: {
      "interlock run": (lib) => {
        const mutex = new lib.KeyedMutex<number>();
        return (fn, key) => mutex.run(key, fn);
      },
      "interlock guard by hand": (lib) => {
        const mutex = new lib.KeyedMutex<number>();
        return byGuard((key) => mutex.acquire(key));
      },
    },
    peers: {
      "async-lock": () => {
        const lock = new AsyncLock();
        return (fn, key) => lock.acquire(String(key), fn);
      },
    },
    goals: [{ against: "peer", ratio: 1.3 }],
  },
  {
    name: "semaphore.run, 10 permits, 100 tasks",
    tasks: 100,
    ours: {
      "interlock run": (lib) => {
        const semaphore = new lib.Semaphore(10);
        return (fn) => semaphore.run(fn);
      },
      "interlock guard by hand": (lib) => {
        const semaphore = new lib.Semaphore(10);
        return byGuard(() => semaphore.acquire());
      },
    },
    peers: {
      "async-mutex runExclusive": () => {
        const semaphore = new AsyncSemaphore(10);
        return (fn) => semaphore.runExclusive(fn);
      },
      "es-toolkit by hand": () => byHand(new EsToolkitSemaphore(10)),
      "p-limit(10)": () => {
        const limit = pLimit(10);
        return (fn) => limit(fn);
      },
    },
    goals: [{ against: "peer", ratio: 1, named: ["es-toolkit by hand"] }],
  },
];

export const run: readonly Situation[] = kinds.flatMap(({ name, tasks, ours, peers, goals = [] }) =>
  Object.entries(functions).map(([kind, fn]): Situation => ({
    name: `${name}, ${kind}`,
    unit: "ns",
    operations: TURNS,
    main: tasks !== 1,
    ours: Object.fromEntries(
      Object.entries(ours).map(([contender, make]) => [contender, (lib: Lib) => playing(() => make(lib), fn, tasks)]),
    ),
    peers: Object.fromEntries(
      Object.entries(peers).map(([contender, make]) => [contender, playing(make, fn, tasks)]),
    ),
    goals,
  }))
);
