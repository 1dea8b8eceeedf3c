/** Every public class of the main entry. */
import * as local from "../../mod.ts";
import { assertSoundBarrier } from "../sound/barrier.ts";
import { assertSoundCondition } from "../sound/condition.ts";
import { assertSoundEvent } from "../sound/event.ts";
import { assertSoundKeyedMutex } from "../sound/keyed_mutex.ts";
import { assertSoundKeyedRateLimiter } from "../sound/keyed_rate_limiter.ts";
import { assertSoundKeyedSemaphore } from "../sound/keyed_semaphore.ts";
import { assertSoundLock } from "../sound/lock.ts";
import { assertSoundPool } from "../sound/pool/pool.ts";
import { assertSoundQueue } from "../sound/queue.ts";
import { assertSoundRateLimiter } from "../sound/rate_limiter.ts";
import { assertSoundRwLock } from "../sound/rw_lock.ts";
import { assertSoundSemaphore } from "../sound/semaphore.ts";
import { assertSoundSetEvent } from "../sound/set_event.ts";
import { assertSoundShutdown } from "../sound/shutdown/graceful_shutdown.ts";
import { assertSoundSingleFlight } from "../sound/single_flight.ts";
import { assertSoundTaskGroup } from "../sound/task_group.ts";
import { type Call, holdable, kind, type Kinds, passing } from "./kind.ts";

const callsOfLock = (lock: local.Lock): Record<string, Call> => {
  const calls = holdable(lock);
  return { ...calls, acquireAll: { ...calls.acquire!, wait: (options) => passing(local.acquireAll([lock], options)) } };
};

const callsOfKeyed = (keyed: local.KeyedMutex<string> | local.KeyedSemaphore<string>): Record<string, Call> => {
  const at = holdable(keyed.at("key"), undefined, "at(key).");
  const common = at["at(key).acquire"]!;
  return {
    ...at,
    acquire: { ...common, wait: (options) => passing(keyed.acquire("key", options)) },
    run: { ...common, wait: (options) => keyed.run("key", () => {}, options) },
  };
};

/** A function that runs until it is told to end. */
function blocker(run: (fn: () => Promise<void>) => Promise<unknown>): () => () => Promise<unknown> {
  return () => {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => end = resolve);
    const running = run(() => ended).catch(() => {});
    return () => (end(), running);
  };
}

/** A start that is used up would come back by itself, on a busy machine before the time-out of a call. */
function pause(limiter: { limit: number }): () => void {
  limiter.limit = 0;
  return () => void (limiter.limit = 1);
}

export const localKinds: Kinds = {
  Lock: kind({ make: (options) => new local.Lock(options), calls: callsOfLock, sound: assertSoundLock }),
  TimeoutLock: kind({
    make: (options) => new local.TimeoutLock(60_000, options),
    calls: callsOfLock,
    sound: assertSoundLock,
  }),
  Semaphore: kind({
    make: (options) => new local.Semaphore(1, options),
    calls: (semaphore) => holdable(semaphore),
    sound: assertSoundSemaphore,
  }),
  BoundedSemaphore: kind({
    make: (options) => new local.BoundedSemaphore(1, options),
    calls: (semaphore) => holdable(semaphore),
    sound: assertSoundSemaphore,
  }),
  RwLock: kind({
    make: (options) => new local.RwLock(options),
    calls: ({ reader, writer }) => ({ ...holdable(reader, writer, "reader."), ...holdable(writer, writer, "writer.") }),
    sound: assertSoundRwLock,
  }),
  KeyedMutex: kind({
    make: (options) => new local.KeyedMutex<string>(options),
    calls: (mutex) => callsOfKeyed(mutex),
    sound: assertSoundKeyedMutex,
  }),
  KeyedSemaphore: kind({
    make: (options) => new local.KeyedSemaphore<string>(1, options),
    calls: (semaphore) => callsOfKeyed(semaphore),
    sound: assertSoundKeyedSemaphore,
  }),
  Condition: kind({
    make: (options) => new local.Condition(undefined, options),
    calls: (condition) => {
      let isReady = true;
      return {
        waitFor: {
          wait: async (options) => {
            const guard = condition.tryAcquire() ?? await condition.acquire();
            return await condition.waitFor(() => isReady, options).finally(() => guard.release());
          },
          block: () => {
            isReady = false;
            return async () => {
              isReady = true;
              await condition.run(() => condition.notifyAll());
            };
          },
          waiting: () => condition.waiting,
        },
      };
    },
    sound: assertSoundCondition,
    neverHeld: "condition",
  }),
  Event: kind({
    make: (options) => new local.Event(options),
    calls: (event) => {
      event.set();
      return {
        wait: {
          wait: (options) => event.wait(options),
          block: () => {
            event.clear();
            return () => event.set();
          },
          waiting: () => event.waiting,
        },
      };
    },
    sound: assertSoundEvent,
    neverHeld: "event",
  }),
  SetEvent: kind({
    make: (options) => new local.SetEvent<object>([], options),
    calls: (set) => ({
      wait: {
        wait: (options) => set.wait(options),
        block: () => {
          const member = {};
          set.add(member);
          return () => set.delete(member);
        },
        waiting: () => set.waiting,
      },
    }),
    sound: assertSoundSetEvent,
    neverHeld: "set-event",
  }),
  Barrier: kind({
    make: (options) => new local.Barrier(1, options),
    calls: (barrier) => ({
      wait: { wait: (options) => barrier.wait(options), waiting: () => barrier.waiting },
    }),
    sound: assertSoundBarrier,
    neverHeld: "barrier",
  }),
  RateLimiter: kind({
    make: (options) => new local.RateLimiter(1, 50, options),
    calls: (limiter) => {
      const common = { block: () => pause(limiter), waiting: () => limiter.waiting };
      return {
        acquire: { ...common, wait: (options) => limiter.acquire(options) },
        run: { ...common, wait: (options) => limiter.run(() => {}, options) },
      };
    },
    sound: assertSoundRateLimiter,
    neverHeld: "rate-limiter",
  }),
  KeyedRateLimiter: kind({
    make: (options) => new local.KeyedRateLimiter<string>(1, 50, options),
    calls: (limiter) => {
      const common = { block: () => pause(limiter), waiting: () => limiter.waiting("key") };
      return {
        acquire: { ...common, wait: (options) => limiter.acquire("key", options) },
        run: { ...common, wait: (options) => limiter.run("key", () => {}, options) },
      };
    },
    sound: assertSoundKeyedRateLimiter,
  }),
  Queue: kind({
    make: (options) => new local.Queue<number>(1, options),
    calls: (queue) => {
      const full = new local.Queue<number>(1, { name: queue.name });
      full.tryPut(1);
      return {
        get: {
          wait: async (options) => full.tryPut(await full.get(options)),
          block: () => (full.tryGet(), () => full.tryPut(1)),
          waiting: () => full.getting,
        },
        put: {
          wait: async (options) => (await queue.put(1, options), queue.tryGet()),
          block: () => (queue.tryPut(1), () => queue.tryGet()),
          waiting: () => queue.putting,
        },
      };
    },
    sound: assertSoundQueue,
    neverHeld: "queue",
  }),
  SingleFlight: kind({
    make: (options) => new local.SingleFlight<string>(options),
    calls: (flights) => ({
      run: {
        wait: (options) => flights.run("key", () => {}, options),
        block: blocker((fn) => flights.run("key", fn)),
      },
    }),
    sound: assertSoundSingleFlight,
    neverHeld: "single-flight",
  }),
  Pool: kind({
    make: (options) => new local.Pool(1, options),
    calls: (pool) => ({
      run: {
        wait: (options) => pool.run(() => {}, options),
        block: blocker((fn) => pool.run(fn)),
        waiting: () => pool.waiting,
      },
    }),
    sound: assertSoundPool,
  }),
  TaskGroup: kind({
    make: (options) => new local.TaskGroup(options),
    calls: (group) => ({
      join: { wait: (options) => group.join(options), block: blocker((fn) => group.run(fn)) },
    }),
    sound: assertSoundTaskGroup,
  }),
  GracefulShutdown: kind({
    make: () => new local.GracefulShutdown({ signals: [] }),
    calls: () => ({}),
    sound: assertSoundShutdown,
    hasName: false,
  }),
};
