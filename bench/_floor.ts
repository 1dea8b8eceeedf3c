/** The floor, below which no implementation can be: the turns of the microtasks alone. */
import type { Maker } from "./_situation.ts";

/** `operations` operations of two turns each: one to enter, one inside. */
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
