/** Programs in which something is cancelled, a limit changes, or a writer becomes a reader. */
import { BoundedSemaphore, Condition, KeyedMutex, KeyedSemaphore, Lock, RwLock, Semaphore } from "../../mod.ts";
import type { KeyedPermits, RwLockSide, WaitOptions } from "../../mod.ts";
import { assertSound } from "../sound/mod.ts";
import { ModelQueue } from "./_model_queue.ts";
import {
  acquire,
  cancel,
  downgrade,
  gate,
  type Holdable,
  holdable,
  notifier,
  release,
  setLimit,
  sleeper,
  visit,
} from "./_steps.ts";
import type { Program, Step, Thing } from "./_world.ts";

/** A lock is cancelled at any moment. */
export function cancelled(name: string, make: () => Lock): Program {
  return {
    name: `${name}: three want it, one may be aborted, it is cancelled at any moment`,
    make: () => ({ lock: holdable(make()) }),
    tasks: { A: visit("lock"), B: visit("lock"), C: visit("lock"), D: [cancel("lock")] },
    aborts: ["B"],
  };
}

/** A limit is lowered below what is held, and raised. */
export function changedLimit(name: string, make: (permits: number) => BoundedSemaphore): Program {
  return {
    name: `${name}: its limit falls and rises, one wants two permits and may be aborted`,
    make: () => ({ semaphore: holdable(make(3), 3) }),
    tasks: {
      A: visit("semaphore"),
      B: visit("semaphore", 2),
      C: visit("semaphore"),
      D: [setLimit("semaphore", 3, 2), setLimit("semaphore", 2, 4)],
    },
    aborts: ["B"],
  };
}

interface TwoSides {
  readonly reader: RwLockSide;
  readonly writer: { acquire(options?: WaitOptions): Promise<unknown>; readonly waiting: number };
}

/** A lock of which a reader has one of three parts, and a writer all. */
export function sides(lock: TwoSides & { cancel?(reason: unknown): void }): Record<string, Thing> {
  const { reader, writer } = lock;
  const real = {
    acquire: (options?: WaitOptions) => reader.acquire(options),
    write: (options?: WaitOptions) => writer.acquire(options),
    cancel: (reason: unknown) => lock.cancel!(reason),
  };
  const waiting = () => reader.waiting + writer.waiting;
  return { lock: { ...holdable(real, 3), waiting, sound: () => assertSound(lock) } };
}

/** Readers and a writer wait for a lock that is cancelled. */
export function cancelledSides(name: string, make: () => TwoSides & { cancel(reason: unknown): void }): Program {
  return {
    name: `${name}: two readers and a writer, a reader may be aborted, both sides are cancelled at any moment`,
    make: () => sides(make()),
    tasks: { A: visit("lock", 3, "write"), B: visit("lock"), C: visit("lock"), D: [cancel("lock")] },
    aborts: ["B"],
  };
}

/** A writer becomes a reader while a reader and a writer wait. */
export function downgraded(name: string, make: () => TwoSides): Program {
  return {
    name: `${name}: a writer becomes a reader, another writer may be aborted`,
    make: () => sides(make()),
    tasks: {
      A: [acquire("lock", 3, "write"), downgrade("lock"), release("lock")],
      B: [acquire("lock", 3, "write"), release("lock")],
      C: [acquire("lock"), release("lock")],
    },
    aborts: ["B"],
  };
}

const cancelAll: Step = {
  text: "cancels all keys",
  on: ["red", "blue", "all"],
  run: (world) => {
    const { red, blue, all } = world.things;
    all!.real.cancel(new Error("all are cancelled"));
    for (const { queue } of [red!, blue!]) {
      queue.closed = true;
      queue.cancel(() => true);
    }
  },
};

/** Two keys of a mutex or a semaphore, and the whole. */
export function keys(whole: { at(key: string): Holdable }, permits = 1): Record<string, Thing> {
  const key = (name: string) => ({ ...holdable(whole.at(name), permits), sound: () => assertSound(whole) });
  return { red: key("red"), blue: key("blue"), all: { real: whole, queue: new ModelQueue(0) } };
}

/** Permits of two keys, all of which are cancelled with what they belong to. */
export function cancelledKeys(
  name: string,
  make: () => { at(key: string): KeyedPermits; cancel(reason: unknown): void },
): Program {
  return {
    name: `${name}: two keys, one wants both permits and may be aborted, all are cancelled at any moment`,
    make: () => keys(make(), 2),
    tasks: { A: visit("red"), B: visit("red", 2), C: visit("blue", 2), D: visit("blue"), E: [cancelAll] },
    aborts: ["B"],
  };
}

export const limitPrograms: readonly Program[] = [
  cancelled("Lock", () => new Lock()),
  {
    name: "Semaphore: one wants both permits, it is cancelled at any moment",
    make: () => ({ semaphore: holdable(new Semaphore(2), 2) }),
    tasks: { A: visit("semaphore"), B: visit("semaphore", 2), C: visit("semaphore"), D: [cancel("semaphore")] },
  },
  {
    name: "KeyedMutex: two keys, both are cancelled with it",
    make: () => keys(new KeyedMutex()),
    tasks: { A: visit("red"), B: visit("red"), C: visit("blue"), D: [cancelAll] },
    aborts: ["B"],
  },
  {
    name: "Condition: two wait, one may be aborted, it is cancelled at any moment",
    make: () => {
      const lock = new Lock();
      return { lock: holdable(lock), condition: gate(new Condition(lock)) };
    },
    tasks: { A: sleeper(), B: sleeper(), C: notifier(), D: [cancel("condition")] },
    aborts: ["A"],
    deadlocks: true,
  },
  cancelledKeys("KeyedSemaphore", () => new KeyedSemaphore(2)),
  cancelledSides("RwLock", () => new RwLock()),
  changedLimit("BoundedSemaphore", (permits) => new BoundedSemaphore(permits)),
  downgraded("RwLock", () => new RwLock()),
];
