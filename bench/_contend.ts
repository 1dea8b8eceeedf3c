/**
 * The workloads. Import this file with a query of one's own (`./_contend.ts?for=…`), so that every contender has its copy
 * and is compiled at its own call sites.
 */

/** What a contender needs to offer. */
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

type Work = { readonly contend: typeof contend; readonly alone: typeof alone };

const copies = new Map<string, Promise<Work>>();

/** The copy of this file for one contender, which it keeps from situation to situation. */
export function copyFor(contender: string): Promise<Work> {
  let copy = copies.get(contender);
  if (copy === undefined) copies.set(contender, copy = import(`./_contend.ts?for=${encodeURIComponent(contender)}`));
  return copy;
}
