/** A producer that is faster than its consumers: without a bound, everything that it reads piles up in memory. */
import { Queue } from "@interlock/interlock";
import { setTimeout as sleep } from "node:timers/promises";

/** The maximum length of the queue while two consumers took 40 items from one producer, and the number they got. */
export async function flow(queue: Queue<number>): Promise<{ most: number; got: number }> {
  let [most, got] = [0, 0];
  const consume = async () => {
    for await (const _ of queue) {
      got++;
      await sleep(1);
    }
  };
  const consumers = [consume(), consume()];
  for (let item = 0; item < 40; item++) {
    await queue.put(item);
    most = Math.max(most, queue.size);
  }
  queue.close(); // the loops end when it is empty
  await Promise.all(consumers);
  return { most, got };
}

export async function main(print: (line: string) => void = console.log) {
  const unbounded = await flow(new Queue());
  print(`unbounded: more than 30 items in memory: ${unbounded.most > 30}, all got: ${unbounded.got === 40}`);
  const bounded = await flow(new Queue(4));
  print(`bounded: ${bounded.most} items in memory, all got: ${bounded.got === 40}`);
}

if (import.meta.main) await main();
