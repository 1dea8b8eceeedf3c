/** 100,000 waiters for one event. */
import { AsyncManualResetEvent } from "@esfx/async-manualresetevent";
import type { Maker, Situation } from "./_situation.ts";

const WAITERS = 100_000;

function allWait(make: () => { wait(): Promise<unknown>; set(): unknown }): Maker {
  return () => {
    const event = make();
    return async () => {
      let gone = 0;
      const all = Array.from({ length: WAITERS }, async () => {
        await event.wait();
        gone++;
      });
      event.set();
      await Promise.all(all);
      if (gone !== WAITERS) throw new Error(`${gone} went`);
    };
  };
}

export const event: readonly Situation[] = [{
  name: "event, 100,000 waiters",
  unit: "ns",
  operations: WAITERS,
  main: true,
  ours: { interlock: (lib) => allWait(() => new lib.Event()) },
  peers: { "@esfx/async-manualresetevent": allWait(() => new AsyncManualResetEvent()) },
  floors: {
    "one shared promise": allWait(() => {
      let set = () => {};
      const promise = new Promise<void>((resolve) => set = resolve);
      return { wait: () => promise, set: () => set() };
    }),
  },
  goals: [{ against: "peer", ratio: 1.2 }],
}];
