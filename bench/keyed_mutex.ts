/** A few hot keys, and a million keys once each. */
import AsyncLock from "async-lock";
import { Mutex as EsToolkitMutex } from "es-toolkit";
import { turns } from "./_floor.ts";
import type { Guard } from "../mod.ts";
import { copyFor, type KeyedContender } from "./_contend.ts";
import type { Lib, Maker, Situation } from "./_situation.ts";

const HOT = 100;
const TASKS = 1000;
const TURNS = 50_000;
const MILLION = 1_000_000;

/** One turn on a key. */
type Turn = (key: number) => Promise<unknown>;

const work = async (): Promise<void> => await Promise.resolve();

function hot(make: () => Turn): Maker {
  return () => {
    const turn = make();
    const task = async (index: number) => {
      for (let i = TURNS / TASKS; i > 0; i--) await turn(index % HOT);
    };
    return async () => void await Promise.all(Array.from({ length: TASKS }, (_, index) => task(index)));
  };
}

function distinct(make: () => Turn): Maker {
  return () => {
    const turn = make();
    return async () => {
      for (let key = 0; key < MILLION; key++) await turn(key);
    };
  };
}

/** The memory kept after a million keys, in bytes. */
function kept(make: () => Turn): Maker {
  return async () => {
    const turn = make();
    const { default: process } = await import("node:process");
    const { gc } = globalThis as { gc?: () => void };
    return async () => {
      gc?.();
      const before = process.memoryUsage().heapUsed;
      for (let key = 0; key < MILLION; key++) await turn(key);
      gc?.();
      const bytes = Math.max(0, process.memoryUsage().heapUsed - before);
      await turn(0); // the measured object is still in use
      return bytes;
    };
  };
}

const asyncLock = (): Turn => {
  const lock = new AsyncLock();
  return (key) => lock.acquire(String(key), work);
};

/** The hand-written alternative; its entries are never removed. */
const mapOfMutexes = (): KeyedContender => {
  const mutexes = new Map<number, EsToolkitMutex>();
  return {
    acquire: (key) => {
      let mutex = mutexes.get(key);
      if (mutex === undefined) mutexes.set(key, mutex = new EsToolkitMutex());
      return mutex.acquire();
    },
    release: (_, key) => mutexes.get(key)!.release(),
  };
};

/** With a guard, the work stays in place; `run` and async-lock take it as a function. */
const guards = (lib: Lib) => (): KeyedContender => {
  const mutex = new lib.KeyedMutex<number>();
  return { acquire: (key) => mutex.acquire(key), release: (guard: Guard) => guard.release() };
};

type Play = (work: Awaited<ReturnType<typeof copyFor>>, contender: KeyedContender) => Promise<void>;

function inline(make: () => KeyedContender, name: string, play: Play): Maker {
  return async () => {
    const [work, contender] = [await copyFor(name), make()];
    return () => play(work, contender);
  };
}

const hotInline = (make: () => KeyedContender, name: string) =>
  inline(make, name, (work, contender) => work.contendForKeys(contender, HOT, TASKS, TURNS));
const distinctInline = (make: () => KeyedContender, name: string) =>
  inline(make, name, (work, contender) => work.eachKey(contender, MILLION));

const run = (lib: Lib) => (): Turn => {
  const mutex = new lib.KeyedMutex<number>();
  return (key) => mutex.run(key, work);
};

export const keyedMutex: readonly Situation[] = [
  {
    name: "keyed mutex, 100 hot keys, 1,000 tasks",
    unit: "ns",
    operations: TURNS,
    main: true,
    ours: {
      "interlock acquire": (lib) => hotInline(guards(lib), "interlock"),
      "interlock run": (lib) => hot(run(lib)),
    },
    floors: turns(TURNS),
    peers: { "async-lock": hot(asyncLock), "es-toolkit in a Map (leaks)": hotInline(mapOfMutexes, "map") },
    goals: [{ against: "peer", ratio: 2, named: ["async-lock"] }],
  },
  {
    name: "keyed mutex, a million keys once each",
    unit: "ns",
    operations: MILLION,
    rounds: 2,
    ours: {
      "interlock acquire": (lib) => distinctInline(guards(lib), "interlock"),
      "interlock run": (lib) => distinct(run(lib)),
    },
    floors: turns(MILLION),
    peers: { "async-lock": distinct(asyncLock) },
    goals: [{ against: "peer", ratio: 2, named: ["async-lock"] }],
  },
  {
    name: "keyed mutex, bytes kept after a million keys",
    unit: "bytes",
    operations: 1,
    rounds: 1,
    ours: { "interlock run": (lib) => kept(run(lib)) },
    peers: {
      "async-lock": kept(asyncLock),
      "es-toolkit in a Map (leaks)": kept(() => {
        const { acquire, release } = mapOfMutexes();
        return async (key) => release(await acquire(key) as never, key);
      }),
    },
    goals: [{ against: "value", ratio: 2 ** 20 }],
  },
];
