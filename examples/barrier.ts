/** A computation in rounds: a worker begins a round only when all workers have ended the previous one. */
import { Barrier } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** How often a worker began a round while another worker was still in the previous round. */
export async function tooEarly(meet: () => Promise<unknown>): Promise<number> {
  const rounds = [0, 0, 0];
  let early = 0;
  const worker = async (id: number) => {
    for (let round = 1; round <= 3; round++) {
      if (Math.min(...rounds) < round - 1) early++;
      await sleep(1 + 4 * id);
      rounds[id] = round;
      await meet();
    }
  };
  await Promise.all([worker(0), worker(1), worker(2)]);
  return early;
}

export async function main(print: (line: string) => void = console.log) {
  print(`without a barrier a worker began too early: ${await tooEarly(() => Promise.resolve()) > 0}`);
  const barrier = new Barrier(3);
  print(`with a barrier: ${await tooEarly(() => barrier.wait())} times`);
}

if (import.meta.main) await main();
