/** The programs whose every schedule is run: two to four tasks each, over the real primitives. */
import {
  Barrier,
  Condition,
  Event,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  RwLock,
  Semaphore,
  SetEvent,
  TimeoutLock,
} from "../../mod.ts";
import { assertSoundKeyedSemaphore } from "../sound/keyed_semaphore.ts";
import {
  acquire,
  gate,
  holdable,
  notifier,
  notify,
  release,
  releaseDuringWait,
  sleeper,
  turn,
  visit,
  wait,
} from "./_steps.ts";
import type { Holdable } from "./_steps.ts";
import type { Program, Thing } from "./_world.ts";
import { flightPrograms } from "./flights.ts";
import { keys, limitPrograms, sides } from "./limits.ts";

/** Three tasks want one lock, some may be aborted, and the first releases a guard that is spent. */
export function threeWant(name: string, make: () => Holdable, aborts: readonly string[] = []): Program {
  return {
    name: `${name}: three want it, ${aborts.join() || "none"} may be aborted, one releases twice`,
    make: () => ({ lock: holdable(make()) }),
    tasks: { A: [...visit("lock"), release("lock")], B: visit("lock"), C: visit("lock") },
    aborts,
  };
}

/** Two wait, one of them may be aborted, a third notifies once, a fourth once more. */
export function twoWait(
  name: string,
  make: () => { lock: Holdable; condition: { readonly waiting: number } },
): Program {
  return {
    name: `${name}: two wait, one may be aborted, one is notified`,
    make: () => conditionThings(make()),
    tasks: { A: sleeper(), B: sleeper(), C: notifier() },
    aborts: ["A"],
    deadlocks: true, // a task that waits after the notification waits forever
  };
}

function conditionThings({ lock, condition }: { lock: Holdable; condition: { readonly waiting: number } }) {
  return { lock: holdable(lock), condition: gate(condition) } satisfies Record<string, Thing>;
}

function ourCondition(): { lock: Lock; condition: Condition } {
  const lock = new Lock();
  return { lock, condition: new Condition(lock) };
}

export const programs: readonly Program[] = [
  threeWant("Lock", () => new Lock(), ["B"]),
  {
    name: "Lock: two locks in opposite orders, which is a deadlock",
    make: () => ({ one: holdable(new Lock()), two: holdable(new Lock()) }),
    tasks: { A: [acquire("one"), acquire("two")], B: [acquire("two"), acquire("one")] },
    deadlocks: true,
  },
  {
    name: "TimeoutLock: two run out of time",
    make: () => ({ lock: holdable(new TimeoutLock(1000)) }),
    tasks: { A: visit("lock"), B: visit("lock"), C: visit("lock") },
    timeouts: { B: 20, C: 30 },
  },
  {
    name: "Semaphore: one wants both permits and may be aborted",
    make: () => ({ semaphore: holdable(new Semaphore(2), 2) }),
    tasks: { A: visit("semaphore"), B: visit("semaphore", 2), C: visit("semaphore") },
    aborts: ["B"],
  },
  {
    name: "RwLock: two readers and a writer that may be aborted",
    make: () => sides(new RwLock()),
    tasks: { A: visit("lock"), B: visit("lock", 3, "write"), C: visit("lock") },
    aborts: ["B"],
  },
  {
    name: "KeyedMutex: two keys, one may be aborted",
    make: () => keys(new KeyedMutex()),
    tasks: { A: visit("red"), B: visit("red"), C: [...visit("blue"), ...visit("red")] },
    aborts: ["B"],
  },
  {
    name: "KeyedSemaphore: two permits of a key, one wants both and may be aborted",
    make: () => {
      const semaphore = new KeyedSemaphore<string>(2);
      const sound = () => assertSoundKeyedSemaphore(semaphore);
      return { key: { ...holdable(semaphore.at("key"), 2), sound } };
    },
    tasks: { A: visit("key"), B: visit("key", 2), C: visit("key") },
    aborts: ["B"],
  },
  twoWait("Condition", ourCondition),
  {
    name: "Condition: both are notified, both may be aborted",
    make: () => conditionThings(ourCondition()),
    tasks: { A: sleeper(), B: sleeper(), C: notifier(2) },
    aborts: ["A", "B"],
    deadlocks: true,
  },
  {
    name: "Condition: two wait, one may be aborted, its guard is released meanwhile, one is notified",
    make: () => conditionThings(ourCondition()),
    tasks: { A: sleeper(), B: sleeper(), C: notifier(), D: [releaseDuringWait("A", "condition", "lock")] },
    aborts: ["A"],
    deadlocks: true,
  },
  {
    name: "Condition: time-outs, and two conditions of one lock",
    make: () => {
      const { lock, condition } = ourCondition();
      return { ...conditionThings({ lock, condition }), other: gate(new Condition(lock)) };
    },
    tasks: {
      A: sleeper(),
      B: sleeper("other"),
      C: [acquire("lock"), notify("condition", "lock"), notify("other", "lock"), release("lock")],
    },
    timeouts: { A: 10, B: 20 },
    deadlocks: true,
  },
  {
    name: "Event: two wait, one may be aborted, it is set and cleared",
    make: () => ({ event: gate(new Event()) }),
    tasks: { A: [wait("event")], B: [wait("event")], C: [turn("event", "set", true), turn("event", "clear", false)] },
    aborts: ["A"],
    deadlocks: true,
  },
  {
    name: "SetEvent: emptied and filled again, one may be aborted",
    make: () => ({ set: gate(new SetEvent([1])) }),
    tasks: { A: [wait("set")], B: [wait("set")], C: [turn("set", "delete", true, 1), turn("set", "add", false, 2)] },
    aborts: ["A"],
    deadlocks: true,
  },
  {
    name: "Barrier: two of three parties, one may be aborted",
    make: () => ({ barrier: gate(new Barrier(2)) }),
    tasks: { A: [wait("barrier")], B: [wait("barrier")], C: [wait("barrier")] },
    aborts: ["B"],
    deadlocks: true, // the third waits for a fourth
  },
  ...limitPrograms,
  ...flightPrograms,
];
