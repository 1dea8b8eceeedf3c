/** All situations of the local part. */
import { condition } from "./condition.ts";
import { event } from "./event.ts";
import { giveUp } from "./internal/cancellation.ts";
import { keyedMutex } from "./keyed_mutex.ts";
import { lock } from "./lock.ts";
import { memory } from "./memory.ts";
import { pool } from "./pool/pool.ts";
import { rwLock } from "./rw_lock.ts";
import { semaphore } from "./semaphore.ts";
import type { Situation } from "./_situation.ts";

export const situations: readonly Situation[] = [
  ...lock,
  ...semaphore,
  ...rwLock,
  ...keyedMutex,
  ...event,
  ...condition,
  ...pool,
  ...giveUp,
  ...memory,
];
