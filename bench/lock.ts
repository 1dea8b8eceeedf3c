/** A free lock, and 2 to 10,000 tasks that want one. */
import { Mutex as AsyncMutex } from "async-mutex";
import { Sema } from "async-sema";
import AwaitLock from "await-lock";
import { Mutex as EsToolkitMutex } from "es-toolkit";
import { type Contender, copyFor } from "./_contend.ts";
import { BareSemaphore } from "./_bare.ts";
import { turns } from "./_floor.ts";
import type { Guard } from "../mod.ts";
import type { Lib, Maker, Situation } from "./_situation.ts";

const FREE = 50_000;
/** The platform's locks take so long that a part of it does. */
const FEW = 2000;
/** Enough for each task to come several times. */
const turnsOf = (tasks: number): number => Math.max(50_000, 10 * tasks);
/** The one that hands out nothing that would have to be given back, and so is no match. */
const NO_GUARD = "await-lock (hands out nothing)";

const BARE = "a bare queue of promises with a guard";

const ours = (lib: Lib) => (): Contender => {
  const lock = new lib.Lock();
  return { acquire: () => lock.acquire(), release: (guard: Guard) => guard.release() };
};

const peers: Record<string, () => Contender> = {
  "async-sema": () => new Sema(1) as unknown as Contender,
  [NO_GUARD]: () => {
    const lock = new AwaitLock();
    return { acquire: () => lock.acquireAsync(), release: () => lock.release() };
  },
  "es-toolkit": () => new EsToolkitMutex(),
  "async-mutex": () => {
    const mutex = new AsyncMutex();
    return { acquire: () => mutex.acquire(), release: (release: () => void) => release() };
  },
};

const WHY =
  "a bare queue of promises that hands out a guard and can do nothing else (a floor below) takes about as long as the whole " +
  "lock: 0.86 to 0.98 of it in the same rounds. The rest is a promise, its resolver, and the engine's search for a `then` on " +
  "the guard. With 10,000 tasks the collector decides: the floor's ring is quicker than any linked list (on Node 20 0.58 " +
  "of our time, a bare list 0.79; on Node 26 and Deno a bare list takes as long as ours), and a little slower up to 1,000 tasks. " +
  "Tried: a `then` of its own or inherited, literals, no prototype, hoisted executors, linked lists and rings, guards kept " +
  "alive between rounds.";

type Play = (work: Awaited<ReturnType<typeof copyFor>>, contender: Contender) => Promise<void>;

/** Every contender of a kind does the same, each with its own copy of the workload. */
export function each(makers: Readonly<Record<string, () => Contender>>, play: Play): Record<string, Maker> {
  return Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, playing(make, play, name)]));
}

/** The same for one. */
export function playing(make: () => Contender, play: Play, name = "interlock"): Maker {
  return async () => {
    const [work, contender] = [await copyFor(name), make()];
    return () => play(work, contender);
  };
}

/** For the floors of locks and semaphores. */
export function bare(value: number, play: Play): Record<string, Maker> {
  return each({
    [BARE]: () => {
      const semaphore = new BareSemaphore(value);
      return { acquire: () => semaphore.acquire(), release: (guard: { release(): void }) => guard.release() };
    },
  }, play);
}

/** The platform's, where it has them; Node 20 has not even a navigator. */
const { locks } = (globalThis.navigator ?? {}) as {
  locks?: { request(name: string, fn: () => void): Promise<unknown> };
};
const webLocks: Record<string, Maker> = locks === undefined ? {} : {
  "navigator.locks": () => async () => {
    for (let i = 0; i < FEW; i++) await locks.request("bench", () => {});
    return await Promise.resolve();
  },
};

export const lock: readonly Situation[] = [
  {
    name: "free lock, synchronous path",
    unit: "ns",
    operations: FREE,
    main: true,
    ours: {
      "tryAcquire() ?? await acquire()": (lib) => async () => {
        const [work, lock] = [await copyFor("interlock, synchronous path"), new lib.Lock()];
        return () => work.tryAlone(lock, FREE);
      },
    },
    peers: each(peers, (work, contender) => work.alone(contender, FREE)),
    floors: {
      "await Promise.resolve()": () => async () => {
        for (let i = 0; i < FREE; i++) await Promise.resolve();
      },
    },
    goals: [{
      against: "peer",
      ratio: 2.5,
      why:
        "JavaScriptCore takes 30 to 50 ns for a guard that is made and spent at once; this was not looked into further. " +
        "Deno once took 51 to 128 ns next to peers and 7 alone: a collection that finds no guard makes V8 throw away the " +
        "code compiled for it, so one guard is always kept.",
    }],
  },
  {
    name: "free lock, awaited",
    unit: "ns",
    operations: FREE,
    main: true,
    ours: { interlock: (lib) => playing(ours(lib), (work, contender) => work.alone(contender, FREE)) },
    peers: each(peers, (work, contender) => work.alone(contender, FREE)),
    goals: [{
      against: "peer",
      ratio: 1,
      named: ["async-mutex", "es-toolkit"],
      why:
        "the mutex of es-toolkit hands out nothing; the engine looks for a `then` on the guard that ours resolves to, which " +
        "takes 35 ns. `tryAcquire() ?? await acquire()` avoids it (the row above).",
    }],
  },
  ...(locks === undefined ? [] : [
    {
      name: "free lock, next to the platform's",
      unit: "ns",
      operations: FEW,
      ours: {
        "interlock run": (lib) => () => async () => {
          const lock = new lib.Lock();
          for (let i = 0; i < FEW; i++) await lock.run(() => {});
        },
      },
      peers: webLocks,
      goals: [{ against: "peer", ratio: 1 }],
    } satisfies Situation,
  ]),
  ...[2, 10, 100, 1000, 10_000].map((tasks): Situation => ({
    name: `lock, ${tasks.toLocaleString("en")} tasks`,
    unit: "ns",
    operations: turnsOf(tasks),
    main: tasks !== 10,
    ours: {
      interlock: (lib) => playing(ours(lib), (work, contender) => work.contend(contender, tasks, turnsOf(tasks))),
    },
    peers: each(peers, (work, contender) => work.contend(contender, tasks, turnsOf(tasks))),
    floors: {
      ...turns(turnsOf(tasks)),
      ...bare(1, (work, contender) => work.contend(contender, tasks, turnsOf(tasks))),
    },
    goals: [
      { against: "peer", ratio: tasks === 10_000 ? 1.3 : 1.5, why: WHY },
      { against: "floor", ratio: 1, named: [BARE], why: WHY },
    ],
  })),
];
