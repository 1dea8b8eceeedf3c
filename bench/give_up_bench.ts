/** Giving up: the cost of each waiter must not grow with their number. The floor is the bare AbortController. */
import { Lock } from "@interlock/interlock";

for (const waiters of [1000, 10_000, 100_000]) {
  const group = `${waiters} waiters give up`;
  const held = (): Lock => {
    const lock = new Lock();
    lock.tryAcquire();
    return lock;
  };

  Deno.bench({
    name: "floor: own AbortController with a listener that rejects",
    group,
    baseline: true,
    fn: async () => {
      const controllers = Array.from({ length: waiters }, () => new AbortController());
      const all = controllers.map(({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))).catch(() => {})
      );
      for (const controller of controllers) controller.abort();
      await Promise.all(all);
    },
  });

  Deno.bench({
    name: "own signals",
    group,
    fn: async () => {
      const lock = held();
      const controllers = Array.from({ length: waiters }, () => new AbortController());
      const all = controllers.map(({ signal }) => lock.acquire({ signal }).catch(() => {}));
      for (const controller of controllers) controller.abort();
      await Promise.all(all);
    },
  });

  Deno.bench({
    name: "one shared signal",
    group,
    fn: async () => {
      const lock = held();
      const controller = new AbortController();
      const all = Array.from({ length: waiters }, () => lock.acquire({ signal: controller.signal }).catch(() => {}));
      controller.abort();
      await Promise.all(all);
    },
  });

  Deno.bench({
    name: "time-out of 1 ms",
    group,
    fn: async () => {
      const lock = held();
      await Promise.all(Array.from({ length: waiters }, () => lock.acquire({ timeout: 1 }).catch(() => {})));
    },
  });
}
