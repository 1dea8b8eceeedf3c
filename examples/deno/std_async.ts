/**
 * `retry`, `deadline` and `pooledMap` of jsr:@std/async next to this module: which one to use when.
 *
 *     deno run examples/deno/std_async.ts
 */
import { deadline, delay, pooledMap, retry } from "@std/async";
import { Lock, Pool, TimeoutError } from "@interlock/interlock";

export async function main(print: (line: string) => void = console.log) {
  print(`retry around a lock: ${await retryInside()}`);
  print(`deadline around acquire: ${await deadlineAround()}`);
  print(`timeout of acquire: ${await timeoutOf()}`);
  print(`pooledMap: ${await Array.fromAsync(pooledMap(2, [1, 2, 3], double))}`);
  await using pool = new Pool(2);
  print(`Pool.map: ${await Array.fromAsync(pool.map([1, 2, 3], double))}`);
}

/** `retry` repeats a function that fails. Hold the lock for one attempt, not for the pauses in between: retry outside, run inside. */
async function retryInside(): Promise<string> {
  const lock = new Lock();
  let attempts = 0;
  const flaky = () => {
    if (++attempts < 3) throw new Error("not yet");
    return `done after ${attempts} attempts`;
  };
  return await retry(() => lock.run(flaky), { minTimeout: 1, maxTimeout: 2, jitter: 0 });
}

/**
 * `deadline` ends your waiting, not the call: an `acquire` inside it stays in the queue, is granted later, and
 * holds forever. Pass the signal or the time to the call itself, as below.
 */
async function deadlineAround(): Promise<string> {
  const lock = new Lock();
  const holder = await lock.acquire();
  const forgotten = lock.acquire();
  const outcome = await deadline(forgotten, 1).then(() => "granted", (error: Error) => error.name);
  const { waiting } = lock;
  holder.release();
  (await forgotten).release();
  return `${outcome}, ${waiting} still in the queue`;
}

/** `timeout` (or `signal`) takes the call out of the queue. */
async function timeoutOf(): Promise<string> {
  const lock = new Lock();
  using _ = await lock.acquire();
  const error = await lock.acquire({ timeout: 1 }).catch((error: unknown) => error);
  return `${error instanceof TimeoutError ? error.name : error}, ${lock.waiting} in the queue`;
}

/**
 * `pooledMap` maps one iterable with a limit of its own. A Pool has one limit for all of its maps and calls, hands a
 * signal to each function, aborts running functions when the loop is left, and throws the first error as it is.
 */
async function double(n: number): Promise<number> {
  await delay(1);
  return 2 * n;
}

if (import.meta.main) await main();
