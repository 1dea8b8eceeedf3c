/** A free lock, and 2 to 10,000 tasks that want one: acquire, one turn of the microtasks, release. */
import { guarded, register, running, SHARED, situation } from "./_situation.ts";
import { BareSemaphore } from "./_floor.ts";
import type { Locking, Run, Trying } from "./_work.ts";

export const situations = await register([
  situation<Trying>({
    name: "free lock, tryAcquire and release",
    operations: 1000,
    main: true,
    ours: ({ Lock }) => new Lock(),
    floor: () => new BareSemaphore(1),
    play: (work, lock) => work.tryAlone(lock, 1000),
  }),
  situation<Locking>({
    name: "free lock, await acquire and release",
    row: "acquire and release a free lock",
    operations: 1000,
    main: true,
    ours: ({ Lock }) => guarded(new Lock()),
    floor: () => new BareSemaphore(1),
    peers: ["lock", "locks"],
    play: (work, lock) => work.alone(lock, 1000),
  }),
  ...[2, 10, 100, 1000, 10_000].map((tasks) => {
    const operations = Math.max(1000, 10 * tasks);
    return situation<Locking>({
      name: `lock, ${tasks.toLocaleString("en")} tasks`,
      row: tasks === 100 ? SHARED : tasks === 10_000 ? "one turn, while 10,000 tasks share a lock" : undefined,
      operations,
      main: tasks > 2,
      ours: ({ Lock }) => guarded(new Lock()),
      floor: () => new BareSemaphore(1),
      peers: ["lock", "locks"],
      play: (work, lock) => work.contend(lock, { tasks, turns: operations }),
    });
  }),
  situation<Run>({
    name: "lock.run, 100 tasks",
    row: "`run` with an async function, by 100 tasks that share a lock",
    operations: 1000,
    main: true,
    ours: ({ Lock }) => running(new Lock()),
    floor: () => running(new BareSemaphore(1)),
    peers: ["lock", "runs"],
    play: (work, run) => work.contendByRun(run, { tasks: 100, turns: 1000 }),
  }),
]);
