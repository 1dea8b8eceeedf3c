/** Ten pairs of tasks write under the same key, let others run, and read back what they wrote. */
import { Lock } from "@interlock/interlock";

/** How many of 20 tasks read back what they wrote. */
export async function readBack(enter: () => Promise<Disposable>): Promise<number> {
  const cells = new Map<number, number>();
  let intact = 0;
  const task = async (key: number, value: number) => {
    using _ = await enter();
    cells.set(key, value);
    await Promise.resolve(); // others run here
    if (cells.get(key) === value) intact++;
  };
  const pairs = Array.from({ length: 10 }, (_, i) => [task(i, i), task(i, i + 1)]);
  await Promise.all(pairs.flat());
  return intact;
}

export async function main(print: (line: string) => void = console.log) {
  const open = { [Symbol.dispose]() {} };
  print(`without a lock: ${await readBack(() => Promise.resolve(open))} of 20 read back what they wrote`);
  const lock = new Lock();
  print(`with a lock: ${await readBack(() => lock.acquire())} of 20 read back what they wrote`);
}

if (import.meta.main) await main();
