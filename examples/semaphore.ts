/** A gateway that can handle three requests at a time. */
import { Semaphore } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** Sends nine requests; returns the maximum number in flight. */
export async function burst(enter: () => Promise<Disposable>): Promise<number> {
  let underWay = 0, most = 0;
  const request = async () => {
    using _ = await enter();
    most = Math.max(most, ++underWay);
    await sleep(2);
    underWay--;
  };
  await Promise.all(Array.from({ length: 9 }, request));
  return most;
}

export async function main(print: (line: string) => void = console.log) {
  print(`without a limit: ${await burst(() => Promise.resolve({ [Symbol.dispose]() {} }))} requests at once`);
  const gateway = new Semaphore(3);
  print(`with a semaphore: ${await burst(() => gateway.acquire())} requests at once`);
}

if (import.meta.main) await main();
