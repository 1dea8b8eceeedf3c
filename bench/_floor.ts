/** What no implementation can be quicker than: the turns of the microtasks alone. */
import type { Maker } from "./_situation.ts";

/** So many operations of two turns each: one to come in, one to be inside. */
export function turns(operations: number): Readonly<Record<string, Maker>> {
  return {
    "two turns of the microtasks": () => async () => {
      for (let i = 0; i < operations; i++) {
        await Promise.resolve();
        await Promise.resolve();
      }
    },
  };
}
