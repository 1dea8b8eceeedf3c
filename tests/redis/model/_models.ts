/** The models that are explored. */
import { adopt } from "../../../lib/redis/scripts/holds.ts";
import { acquire, release } from "../../../lib/redis/scripts/state_machine.ts";
import { EVERYTHING } from "../../../lib/redis/rw_lock.ts";
import type { Family, Model } from "./_model.ts";

function familyOf(layout: Family["layout"]): Family {
  return { layout, acquire: acquire[layout], release: release[layout], adopt };
}

export function models(depth: number, faults: number): Record<string, Model> {
  const bounds = { depth, faults };
  const lock = { family: familyOf("lock"), limit: 1, weights: [1, 1, 1], ...bounds };
  const semaphore = { family: familyOf("semaphore"), limit: 2, weights: [1, 2, 1], ...bounds };
  const readersAndWriter = { family: familyOf("semaphore"), limit: EVERYTHING, weights: [1, EVERYTHING, 1], ...bounds };
  return {
    "a lock and 3 clients": lock,
    "a semaphore of 2 and a large request": semaphore,
    "a lock that is handed over": { ...lock, adopts: true },
    "a semaphore whose permits are handed over": { ...semaphore, adopts: true },
    "a lock and a failover": { ...lock, failover: true },
    "a semaphore and a failover": { ...semaphore, failover: true },
    "a semaphore of 2 and keys that expire": {
      ...semaphore,
      pause: 40_000,
      depth: depth + 2,
    },
    "two readers, a writer and a failover": { ...readersAndWriter, failover: true },
  };
}
