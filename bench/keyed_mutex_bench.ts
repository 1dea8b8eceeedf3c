/** Many keys once each, and a few keys that everybody wants. */
import { KeyedMutex } from "@interlock/interlock";
import AsyncLock from "async-lock";

const KEYS = 10_000;

const contenders: Record<string, () => (key: number, fn: () => Promise<void>) => Promise<unknown>> = {
  interlock: () => {
    const mutex = new KeyedMutex<number>();
    return (key, fn) => mutex.run(key, fn);
  },
  "async-lock": () => {
    const lock = new AsyncLock({ maxPending: Infinity });
    return (key, fn) => lock.acquire(String(key), fn);
  },
};

for (const [name, make] of Object.entries(contenders)) {
  Deno.bench({
    name,
    group: `${KEYS} keys, once each`,
    baseline: name === "interlock",
    fn: async () => {
      const run = make();
      for (let key = 0; key < KEYS; key++) await run(key, () => Promise.resolve());
    },
  });
  Deno.bench({
    name,
    group: `100 keys, ${KEYS} calls at once`,
    baseline: name === "interlock",
    fn: async () => {
      const run = make();
      await Promise.all(Array.from({ length: KEYS }, (_, i) => run(i % 100, () => Promise.resolve())));
    },
  });
}
