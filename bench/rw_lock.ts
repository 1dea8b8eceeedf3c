/** Nine readers to one writer. */
import { AsyncReaderWriterLock } from "@esfx/async-readerwriterlock";
import { turns } from "./_floor.ts";
import type { Situation } from "./_situation.ts";

const TASKS = 100;
const TURNS = 100_000;

interface Sides {
  read(): Promise<() => void>;
  write(): Promise<() => void>;
}

async function mix({ read, write }: Sides): Promise<void> {
  let [readers, writers] = [0, 0];
  const task = async (index: number) => {
    const isWriter = index % 10 === 0;
    for (let i = TURNS / TASKS; i > 0; i--) {
      const release = await (isWriter ? write() : read());
      if (isWriter ? writers++ > 0 || readers > 0 : readers++ < 0 || writers > 0) throw new Error("too many inside");
      await Promise.resolve();
      isWriter ? writers-- : readers--;
      release();
    }
  };
  await Promise.all(Array.from({ length: TASKS }, (_, index) => task(index)));
}

export const rwLock: readonly Situation[] = [{
  name: "read-write lock, 90 readers and 10 writers",
  unit: "ns",
  operations: TURNS,
  ours: {
    interlock: (lib) => () => {
      const { reader, writer } = new lib.RwLock();
      const side = (one: typeof reader) => async () => {
        const guard = await one.acquire();
        return () => guard.release();
      };
      return () => mix({ read: side(reader), write: side(writer) });
    },
  },
  peers: {
    "@esfx/async-readerwriterlock": () => {
      const lock = new AsyncReaderWriterLock();
      const side = (take: () => Promise<{ unlock(): unknown }>) => async () => {
        const handle = await take();
        return () => void handle.unlock();
      };
      return () => mix({ read: side(() => lock.read()), write: side(() => lock.write()) });
    },
  },
  floors: turns(TURNS),
  goals: [{ against: "peer", ratio: 1 }],
}];
