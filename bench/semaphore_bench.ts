/** Ten permits, and nine readers to one writer. */
import { guarded, register, situation } from "./_situation.ts";
import { BareSemaphore } from "./_floor.ts";
import type { Locking, Sides } from "./_work.ts";
import type { RwLock } from "../mod.ts";

const side = (one: RwLock["reader"]) => async () => {
  const guard = await one.acquire();
  return () => guard.release();
};

/** One at a time, readers too: the least that keeps writers out. */
const bareSides = (): Sides => {
  const lock = new BareSemaphore(1);
  const one = () => lock.acquire().then((guard) => () => guard.release());
  return { read: one, write: one };
};

export const situations = await register([
  ...[100, 1000, 10_000].map((tasks) =>
    situation<Locking>({
      name: `semaphore of 10 permits, ${tasks.toLocaleString("en")} tasks`,
      row: tasks === 1000 ? "one turn, while 1,000 tasks share 10 permits" : undefined,
      operations: 10 * tasks,
      main: tasks === 1000,
      ours: ({ Semaphore }) => guarded(new Semaphore(10)),
      floor: () => new BareSemaphore(10),
      ...tasks > 1000 ? {} : { peers: ["semaphore", "semaphores"] }, // some take O(n) for each turn
      play: (work, semaphore) => work.contend(semaphore, { tasks, turns: 10 * tasks, most: 10 }),
    })
  ),
  situation<Sides>({
    name: "read-write lock, 90 readers and 10 writers",
    operations: 1000,
    ours: ({ RwLock }) => {
      const { reader, writer } = new RwLock();
      return { read: side(reader), write: side(writer) };
    },
    floor: bareSides,
    play: (work, sides) => work.readAndWrite(sides, { tasks: 100, turns: 1000 }),
  }),
]);
