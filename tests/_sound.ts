/** The invariants of everything local, by class. */
import {
  Barrier,
  Condition,
  Event,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  Pool,
  Queue,
  RateLimiter,
  RwLock,
  Semaphore,
  SetEvent,
  SingleFlight,
  TaskGroup,
} from "../mod.ts";
import { assertSoundBarrier } from "../lib/barrier.ts";
import { assertSoundCondition } from "../lib/condition.ts";
import { assertSoundEvent } from "../lib/event.ts";
import { assertSoundKeyedMutex } from "../lib/keyed_mutex.ts";
import { assertSoundKeyedRateLimiter } from "../lib/keyed_rate_limiter.ts";
import { assertSoundKeyedSemaphore } from "../lib/keyed_semaphore.ts";
import { assertSoundLock } from "../lib/lock.ts";
import { assertSoundPool } from "../lib/pool/pool.ts";
import { assertSoundQueue } from "../lib/queue.ts";
import { assertSoundRateLimiter } from "../lib/rate_limiter.ts";
import { assertSoundRwLock } from "../lib/rw_lock.ts";
import { assertSoundSemaphore } from "../lib/semaphore.ts";
import { assertSoundSetEvent } from "../lib/set_event.ts";
import { assertSoundSingleFlight } from "../lib/single_flight.ts";
import { assertSoundTaskGroup } from "../lib/task_group.ts";

/** Throws unless the invariants of this thing hold; does nothing for a thing of another class. */
export function assertSound(thing: unknown): void {
  if (thing instanceof Lock) assertSoundLock(thing);
  else if (thing instanceof Semaphore) assertSoundSemaphore(thing);
  else if (thing instanceof RwLock) assertSoundRwLock(thing);
  else if (thing instanceof KeyedMutex) assertSoundKeyedMutex(thing);
  else if (thing instanceof KeyedSemaphore) assertSoundKeyedSemaphore(thing);
  else if (thing instanceof KeyedRateLimiter) assertSoundKeyedRateLimiter(thing);
  else if (thing instanceof SingleFlight) assertSoundSingleFlight(thing);
  else if (thing instanceof TaskGroup) assertSoundTaskGroup(thing);
  else if (thing instanceof Condition) assertSoundCondition(thing);
  else if (thing instanceof Event) assertSoundEvent(thing);
  else if (thing instanceof SetEvent) assertSoundSetEvent(thing);
  else if (thing instanceof Barrier) assertSoundBarrier(thing);
  else if (thing instanceof RateLimiter) assertSoundRateLimiter(thing);
  else if (thing instanceof Queue) assertSoundQueue(thing);
  else if (thing instanceof Pool) assertSoundPool(thing);
}
