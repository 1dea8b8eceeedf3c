/** A producer and its consumers, which wait for a condition. */
import { turns } from "./_floor.ts";
import type { Maker, Situation } from "./_situation.ts";

const ITEMS = 50_000;
const CONSUMERS = 10;

interface Monitor {
  lock(): Promise<() => void>;
  wait(): Promise<unknown>;
  notify(): void;
}

function produceAndConsume(make: () => Monitor): Maker {
  return () => {
    const monitor = make();
    let [items, consumed] = [0, 0];
    const consumer = async () => {
      for (let i = ITEMS / CONSUMERS; i > 0; i--) {
        const unlock = await monitor.lock();
        while (items === 0) await monitor.wait();
        items--;
        consumed++;
        unlock();
      }
    };
    const producer = async () => {
      for (let i = 0; i < ITEMS; i++) {
        const unlock = await monitor.lock();
        items++;
        monitor.notify();
        unlock();
      }
    };
    return async () => {
      await Promise.all([...Array.from({ length: CONSUMERS }, consumer), producer()]);
      if (consumed !== ITEMS) throw new Error(`${consumed} consumed`);
    };
  };
}

export const condition: readonly Situation[] = [{
  name: "condition, one producer and 10 consumers",
  unit: "ns",
  operations: ITEMS,
  ours: {
    interlock: (lib) =>
      produceAndConsume(() => {
        const condition = new lib.Condition();
        return {
          lock: async () => {
            const guard = await condition.acquire();
            return () => guard.release();
          },
          wait: () => condition.wait(),
          notify: () => condition.notify(),
        };
      }),
  },
  // The one on npm, @esfx/async-conditionvariable 1.0.0-pre.8, throws with the dependencies that it asks for.
  peers: {},
  floors: turns(ITEMS),
}];
