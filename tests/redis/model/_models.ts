/** The models that are explored. */
import { families } from "../../../lib/redis/store/redis_store.ts";
import { EVERYTHING } from "../../../lib/redis/rw_lock.ts";
import type { Model } from "./_model.ts";

export function models(depth: number, faults: number): Record<string, Model> {
  const bounds = { depth, faults };
  const lock = { family: families.one, limit: 1, weights: [1, 1, 1], ...bounds };
  const semaphore = { family: families.weighted, limit: 2, weights: [1, 2, 1], ...bounds };
  const readersAndWriter = { family: families.weighted, limit: EVERYTHING, weights: [1, EVERYTHING, 1], ...bounds };
  return {
    "a lock and 3 clients": lock,
    "a semaphore of 2 and a large request": semaphore,
    "a lock that is handed over": { ...lock, adopts: true },
    "a semaphore whose permits are handed over": { ...semaphore, adopts: true },
    "a lock and a failover": { ...lock, failover: true },
    "a semaphore and a failover": { ...semaphore, failover: true },
    "a semaphore of 2 and keys that expire": {
      ...semaphore,
      retentions: [9000, 1000, 1000],
      pause: 5000,
      depth: depth + 2,
    },
    "two readers, a writer and a failover": { ...readersAndWriter, failover: true },
  };
}
