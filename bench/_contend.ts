/**
 * The workloads. Import this file with a query of one's own (`./_contend.ts?for=…`), so that every contender has its copy
 * and is compiled at its own call sites.
 */

/** The interface of a contender. */
export interface Contender {
  acquire(): Promise<unknown>;
  release(held: never): void;
}

/** Runs `tasks` tasks with `turns` turns in all, and checks that never more than `most` were inside. */
export async function contend(contender: Contender, tasks: number, turns: number, most = 1): Promise<void> {
  let inside = 0;
  let done = 0;
  const task = async () => {
    for (let i = turns / tasks; i > 0; i--) {
      const held = await contender.acquire();
      if (++inside > most) throw new Error("too many inside");
      await Promise.resolve();
      inside--;
      done++;
      contender.release(held as never);
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
  if (done !== turns) throw new Error(`${done} turns instead of ${turns}`);
}

/** One task that takes what is free, again and again. */
export async function alone(contender: Contender, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) contender.release(await contender.acquire() as never);
}

/** The same by the synchronous path, which does not wait for a free lock. */
export async function tryAlone<G extends { release(): void }>(
  lock: { tryAcquire(): G | undefined; acquire(): Promise<G> },
  turns: number,
): Promise<void> {
  for (let i = 0; i < turns; i++) (lock.tryAcquire() ?? await lock.acquire()).release();
}

/** A contender for one of many keys. */
export interface KeyedContender {
  acquire(key: number): Promise<unknown>;
  release(held: never, key: number): void;
}

/** Runs `tasks` tasks with `turns` turns in all, each at one of `keys` keys. */
export async function contendForKeys(
  contender: KeyedContender,
  keys: number,
  tasks: number,
  turns: number,
): Promise<void> {
  const inside = new Uint8Array(keys);
  const task = async (key: number) => {
    for (let i = turns / tasks; i > 0; i--) {
      const held = await contender.acquire(key);
      if (inside[key] !== 0) throw new Error("two inside");
      inside[key] = 1;
      await Promise.resolve();
      inside[key] = 0;
      contender.release(held as never, key);
    }
  };
  await Promise.all(Array.from({ length: tasks }, (_, index) => task(index % keys)));
}

/** One task that takes each key once. */
export async function eachKey(contender: KeyedContender, keys: number): Promise<void> {
  for (let key = 0; key < keys; key++) contender.release(await contender.acquire(key) as never, key);
}

type Work = typeof import("./_contend.ts");

const copies = new Map<string, Promise<Work>>();

/** The copy of this file for one contender, which it keeps from situation to situation. */
export function copyFor(contender: string): Promise<Work> {
  let copy = copies.get(contender);
  if (copy === undefined) copies.set(contender, copy = import(`./_contend.ts?for=${encodeURIComponent(contender)}`));
  return copy;
}
