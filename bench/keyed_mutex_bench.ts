/** A few hot keys, and a million keys. */
import { type Lib, register, type Situation, situation } from "./_situation.ts";
import { BareSemaphore } from "./_floor.ts";
import type { Locking, Run } from "./_work.ts";
import type { Guard } from "../mod.ts";

const HOT = { keys: 100, tasks: 1000, turns: 10_000 };

const ours = ({ KeyedMutex }: Lib): Locking => {
  const mutex = new KeyedMutex<number>();
  return { acquire: (key) => mutex.acquire(key), release: (guard: Guard) => guard.release() };
};

/** A Map whose entries are never removed. */
const bareMutexes = () => {
  const mutexes = new Map<number, BareSemaphore>();
  return (key: number) => {
    let mutex = mutexes.get(key);
    if (mutex === undefined) mutexes.set(key, mutex = new BareSemaphore(1));
    return mutex;
  };
};

export const situations: readonly Situation[] = [
  situation<Locking>({
    name: "keyed mutex, a million keys one after the other",
    operations: 1000,
    main: true,
    ours,
    floor: () => ({ acquire: () => Promise.resolve(), release() {} }),
    peers: ["keyed_mutex", "keyed"],
    play: (work, one) => work.alone(one, 1000),
  }),
  situation<Locking>({
    name: "keyed mutex, 100 hot keys, 1,000 tasks",
    operations: HOT.turns,
    main: true,
    ours,
    floor: () => {
      const mutexOf = bareMutexes();
      return { acquire: (key) => mutexOf(key).acquire(), release: (guard: Guard) => guard.release() };
    },
    peers: ["keyed_mutex", "keyed"],
    play: (work, one) => work.contend(one, HOT),
  }),
  situation<Run>({
    name: "keyed.run, 100 hot keys, 1,000 tasks",
    operations: HOT.turns,
    ours: ({ KeyedMutex }) => {
      const mutex = new KeyedMutex<number>();
      return (fn, key) => mutex.run(key, fn);
    },
    floor: () => {
      const mutexOf = bareMutexes();
      return (fn, key) => mutexOf(key).run(fn);
    },
    peers: ["keyed_mutex", "keyedRuns"],
    play: (work, run) => work.contendByRun(run, HOT),
  }),
];

await register(situations);
