/** The workload of the contended groups: tasks that loop over enter, one turn for the others, leave. */

/** What a contender needs to offer. */
export interface Contender {
  acquire(): Promise<unknown>;
  release(held: never): void;
}

/** Runs `tasks` tasks with `turns` turns in all, and checks that never more than `most` were inside. */
export async function contend(contender: Contender, tasks: number, turns: number, most = 1): Promise<void> {
  let inside = 0;
  const task = async () => {
    for (let i = turns / tasks; i > 0; i--) {
      const held = await contender.acquire();
      if (++inside > most) throw new Error("too many inside");
      await Promise.resolve();
      inside--;
      contender.release(held as never);
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
}
