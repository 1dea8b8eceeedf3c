/** `run`: a function under a lock, a key or a permit; the peers' ways of doing the same, and our own guard by hand. */
import AsyncLock from "async-lock";
import { Mutex as AsyncMutex, Semaphore as AsyncSemaphore } from "async-mutex";
import { Mutex as EsToolkitMutex, Semaphore as EsToolkitSemaphore } from "es-toolkit";
import pLimit from "p-limit";
import type { Goal, Lib, Maker, Situation } from "./_situation.ts";

const TURNS = 50_000;
const KEYS = 100;

/** Calls `fn` once while holding something of this key. */
type Run = (fn: () => unknown, key: number) => Promise<unknown>;

const functions: Readonly<Record<string, () => unknown>> = {
  "a synchronous function": () => {},
  "an async function": async () => await Promise.resolve(),
};

/** Runs the function again and again, for a key. */
type Turns = (fn: () => unknown, turns: number, key: number) => Promise<void>;

function playing(make: () => Turns, fn: () => unknown, tasks: number): Maker {
  return () => {
    const take = make();
    let calls = 0;
    const counted = () => {
      calls++;
      return fn();
    };
    return async () => {
      calls = 0;
      await Promise.all(Array.from({ length: tasks }, (_, index) => take(counted, TURNS / tasks, index % KEYS)));
      if (calls !== TURNS) throw new Error(`${calls} calls instead of ${TURNS}`);
    };
  };
}

function byRun(make: () => Run): () => Turns {
  return () => {
    const run = make();
    return async (fn, turns, key) => {
      for (let i = turns; i > 0; i--) await run(fn, key);
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

/** Our own guard by hand: acquire, try, finally in an async function, as `run` has to do it. */
function guarded(acquire: (key: number) => Promise<{ release(): void }>): Run {
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
  readonly ours: (lib: Lib) => Run;
  /** The same with a guard. */
  readonly guards: (lib: Lib) => (key: number) => Promise<{ release(): void }>;
  readonly peers: Readonly<Record<string, () => Run>>;
  readonly goals: Situation["goals"];
}

const BY_HAND = "interlock by hand";
const HAND: Goal = { against: "ours", ratio: 1.2, named: [BY_HAND] };

/** The goals next to peers. */
const PEER =
  "`run` is an asynchronous function around the same acquire: a promise and a turn of the microtasks more than a loop " +
  "without the call, and 680 bytes in place of 220 while it is queued, which the collector copies and the caches miss. " +
  "Tried: `then` in place of the asynchronous function: 0.5 to 0.9 of the time for synchronous functions on Deno and " +
  "Node, 0.7 to 0.9 on Bun, for async ones 0.8 to 1.1, on Bun 0.95 to 1.4; but stack traces on Bun no longer show the " +
  "caller, nor do those on Deno and Node of an async function that fails after one turn (not kept). One promise made by " +
  "hand: 1.0 and no stack traces. A grant that resolves to undefined, for which the engine looks up no `then`: 0.85 in a " +
  "queue on Deno and Node, synchronous only, no gain on Bun, and a field more for each waiter (not kept). A smaller " +
  "asynchronous part (kept: 11 to 22 % less when free), one look-up of the key in place of two (3 %, not kept).";

const LOCK: Omit<Kind, "name" | "tasks"> = {
  ours: (lib) => {
    const lock = new lib.Lock();
    return (fn) => lock.run(fn);
  },
  guards: (lib) => {
    const lock = new lib.Lock();
    return () => lock.acquire();
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
  goals: [HAND, { against: "peer", ratio: 2.5, named: ["p-limit(1)"], why: PEER }],
};

const kinds: readonly Kind[] = [
  { ...LOCK, name: "lock.run, free", tasks: 1 },
  { ...LOCK, name: "lock.run, 100 tasks", tasks: 100 },
  {
    name: `keyed.run, ${KEYS} hot keys, 1,000 tasks`,
    tasks: 1000,
    ours: (lib) => {
      const mutex = new lib.KeyedMutex<number>();
      return (fn, key) => mutex.run(key, fn);
    },
    guards: (lib) => {
      const mutex = new lib.KeyedMutex<number>();
      return (key) => mutex.acquire(key);
    },
    peers: {
      "async-lock": () => {
        const lock = new AsyncLock();
        return (fn, key) => lock.acquire(String(key), fn);
      },
    },
    goals: [HAND, { against: "peer", ratio: 1.3, why: PEER }],
  },
  {
    name: "semaphore.run, 10 permits, 100 tasks",
    tasks: 100,
    ours: (lib) => {
      const semaphore = new lib.Semaphore(10);
      return (fn) => semaphore.run(fn);
    },
    guards: (lib) => {
      const semaphore = new lib.Semaphore(10);
      return () => semaphore.acquire();
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
    goals: [HAND, { against: "peer", ratio: 1, named: ["es-toolkit by hand"], why: PEER }],
  },
];

export const run: readonly Situation[] = kinds.flatMap(({ name, tasks, ours, guards, peers, goals = [] }) =>
  Object.entries(functions).map(([kind, fn]): Situation => ({
    name: `${name}, ${kind}`,
    unit: "ns",
    operations: TURNS,
    main: tasks !== 1,
    ours: {
      "interlock run": (lib) => playing(byRun(() => ours(lib)), fn, tasks),
      [BY_HAND]: (lib) => playing(byRun(() => guarded(guards(lib))), fn, tasks),
    },
    peers: Object.fromEntries(
      Object.entries(peers).map(([contender, make]) => [contender, playing(byRun(make), fn, tasks)]),
    ),
    goals,
  }))
);
