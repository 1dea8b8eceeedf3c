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
} from "../../mod.ts";
import { assertSoundBarrier } from "./barrier.ts";
import { assertSoundCondition } from "./condition.ts";
import { assertSoundEvent } from "./event.ts";
import { assertSoundKeyedMutex } from "./keyed_mutex.ts";
import { assertSoundKeyedRateLimiter } from "./keyed_rate_limiter.ts";
import { assertSoundKeyedSemaphore } from "./keyed_semaphore.ts";
import { assertSoundLock } from "./lock.ts";
import { assertSoundPool } from "./pool/pool.ts";
import { assertSoundQueue } from "./queue.ts";
import { assertSoundRateLimiter } from "./rate_limiter.ts";
import { assertSoundRwLock } from "./rw_lock.ts";
import { assertSoundSemaphore } from "./semaphore.ts";
import { assertSoundSetEvent } from "./set_event.ts";
import { assertSoundSingleFlight } from "./single_flight.ts";
import { assertSoundTaskGroup } from "./task_group.ts";

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
