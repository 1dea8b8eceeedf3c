/** All situations of the local part. */
import { acquireAll } from "./acquire_all.ts";
import { condition } from "./condition.ts";
import { event } from "./event.ts";
import { cancellation } from "./internal/cancellation.ts";
import { keyedMutex } from "./keyed_mutex.ts";
import { lock } from "./lock.ts";
import { memory } from "./memory.ts";
import { pool } from "./pool/pool.ts";
import { queue } from "./queue.ts";
import { rateLimiter } from "./rate_limiter.ts";
import { run } from "./run.ts";
import { rwLock } from "./rw_lock.ts";
import { semaphore } from "./semaphore.ts";
import { singleFlight } from "./single_flight.ts";
import type { Situation } from "./_situation.ts";

export const situations: readonly Situation[] = [
  ...lock,
  ...run,
  ...semaphore,
  ...rwLock,
  ...keyedMutex,
  ...acquireAll,
  ...rateLimiter,
  ...event,
  ...condition,
  ...queue,
  ...singleFlight,
  ...pool,
  ...cancellation,
  ...memory,
];
