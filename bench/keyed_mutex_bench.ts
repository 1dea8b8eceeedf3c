/** A few hot keys, and a million keys. */
import { type Lib, register, situation } from "./_situation.ts";
import { BareMutexes } from "./_floor.ts";
import type { Locking, Run } from "./_work.ts";
import type { Guard } from "../mod.ts";

const HOT = { keys: 100, tasks: 1000, turns: 10_000 };

const ours = ({ KeyedMutex }: Lib): Locking => {
  const mutex = new KeyedMutex<number>();
  return { acquire: (key) => mutex.acquire(key), release: (guard: Guard) => guard.release() };
};

export const situations = await register([
  situation<Locking>({
    name: "keyed mutex, a million keys one after the other",
    operations: 1000,
    main: true,
    ours,
    floor: () => ({ acquire: () => Promise.resolve(), release() {} }),
    play: (work, one) => work.alone(one, 1000),
  }),
  situation<Locking>({
    name: "keyed mutex, 100 hot keys, 1,000 tasks",
    operations: HOT.turns,
    main: true,
    ours,
    floor: () => {
      const mutexes = new BareMutexes();
      return { acquire: (key) => mutexes.at(key).acquire(), release: (guard: Guard) => guard.release() };
    },
    play: (work, one) => work.contend(one, HOT),
  }),
  situation<Run>({
    name: "keyed.run, 100 hot keys, 1,000 tasks",
    row: "`run` of a keyed lock, by 1,000 tasks for 100 keys",
    operations: HOT.turns,
    ours: ({ KeyedMutex }) => {
      const mutex = new KeyedMutex<number>();
      return (fn, key) => mutex.run(key, fn);
    },
    floor: () => {
      const mutexes = new BareMutexes();
      return (fn, key) => mutexes.at(key).run(fn);
    },
    peers: ["keyed_mutex", "keyedRuns"],
    play: (work, run) => work.contendByRun(run, HOT),
  }),
]);
