/** The steps of programs: each calls the real thing and its model. */
import { assertSound } from "../sound/mod.ts";
import type { Guard, WaitOptions, WriterGuard } from "../../mod.ts";
import { ModelQueue, type Outcome } from "./_model_queue.ts";
import type { Step, Thing } from "./_world.ts";

/** Anything that hands out guards, as the steps call it. */
export interface Holdable {
  acquire(options?: WaitOptions): Promise<Guard>;
  readonly waiting?: number | undefined;
}

/** A thing with this weight free, next to its model. */
export function holdable(real: Holdable, free = 1): Thing {
  return { real, queue: new ModelQueue(free), waiting: () => real.waiting, sound: () => assertSound(real) };
}

/** A thing that is waited for and hands out nothing; a barrier, if it has a number of parties. */
export function gate(real: { readonly waiting: number; readonly parties?: number }): Thing {
  return { real, queue: new ModelQueue(0, real.parties), waiting: () => real.waiting, sound: () => assertSound(real) };
}

/** Waits for a grant. */
export function acquire(thing: string, weight = 1, call = "acquire"): Step {
  return {
    text: `acquires ${thing}${weight > 1 ? ` (${weight})` : ""}`,
    on: [thing],
    run: (world, task) => {
      const options = world.options(task);
      const weighted = weight > 1 ? { ...options, permits: weight } : options;
      world.wait(task, thing, weight, () => world.things[thing]!.real[call](weighted));
    },
  };
}

/** Releases its guard, also a second time if the program asks for it. */
export function release(thing: string): Step {
  return {
    text: `releases ${thing}`,
    on: [thing],
    run: (world, task) => {
      task.guard?.release();
      world.things[thing]!.queue.leave(task.name);
    },
  };
}

/** A step that does something to the real things, and the same in the models. */
function does(text: string, on: readonly string[], real: Step["run"], model: Step["run"]): Step {
  return {
    text,
    on,
    run: (world, task) => {
      real(world, task);
      model(world, task);
    },
  };
}

/** Something of its own to do. */
export const work: Step = { text: "works", on: [], run: () => {} };

/** Acquires, works and releases. */
export function visit(thing: string, weight = 1, call = "acquire"): Step[] {
  return [acquire(thing, weight, call), work, release(thing)];
}

/** Waits for an event, for an empty set, or at a barrier. */
export function wait(thing: string): Step {
  return {
    text: `waits for ${thing}`,
    on: [thing],
    run: (world, task) => void world.wait(task, thing, 1, () => world.things[thing]!.real.wait(world.options(task))),
  };
}

/** Opens a gate by `call`, or closes it. */
export function turn(thing: string, call: string, opens: boolean, ...args: unknown[]): Step {
  return does(`${call}s ${thing}`, [thing], (world) => world.things[thing]!.real[call](...args), (world) => {
    const { queue } = world.things[thing]!;
    queue.free = opens ? Infinity : 0;
    if (opens) queue.wake(Infinity);
  });
}

/** Waits for a notification: releases `lock`, joins the queue of `condition`, and takes `lock` back either way. */
export function waitOn(condition: string, lock: string): Step {
  return {
    text: `waits on ${condition}`,
    on: [condition, lock],
    run: (world, task) => {
      const { real } = world.things[condition]!;
      const { queue } = world.things[lock]!;
      const takeBack = (outcome: Outcome) => {
        const call = task.call!;
        const isOver = call.outcome === "cancelled"; // its guard was released when it had just left the condition
        if (isOver) return outcome === "granted" ? world.things[condition]!.queue.wake(1) : undefined;
        queue.join({
          ...call,
          weight: 1,
          cancellable: false,
          deadline: Infinity,
          isNotified: outcome === "granted",
          then: () => call.outcome = outcome,
        });
      };
      const wait = () => real.wait(world.options(task));
      const call = world.wait(task, condition, Infinity, wait, { goesOn: true, then: takeBack });
      // An aborted signal rejects before the lock is given up.
      if (call.outcome === "waits") queue.leave(task.name);
    },
  };
}

/** Acquires `lock`, waits on `condition` and releases. */
export function sleeper(condition = "condition", lock = "lock"): Step[] {
  return [acquire(lock), waitOn(condition, lock), release(lock)];
}

/** Acquires `lock`, notifies the first `count` waiters of `condition` and releases. */
export function notifier(count = 1, condition = "condition", lock = "lock"): Step[] {
  return [acquire(lock), notify(condition, lock, count), release(lock)];
}

/** Releases the guard of a task that waits on `condition`: the wait ends without taking `lock` back. */
export function releaseDuringWait(name: string, condition: string, lock: string): Step {
  return does(`releases ${name}'s guard if ${name} waits on ${condition}`, [condition, lock], (world) => {
    const { guard } = world.task(name);
    if (guard?.held === false) guard.release();
  }, (world) => {
    const { call } = world.task(name);
    if (call?.goesOn !== true || call.outcome !== "waits") return;
    const waiters = world.things[condition]!.queue;
    const isNotified = waiters.remove(name) === undefined && world.things[lock]!.queue.remove(name)?.isNotified;
    call.outcome = "cancelled";
    if (isNotified) waiters.wake(1); // a notification for a wait that has ended belongs to the next one
  });
}

/** Notifies the first `count` waiters. */
export function notify(condition: string, lock: string, count = 1): Step {
  return {
    text: `notifies ${count}`,
    on: [condition, lock],
    run: (world) => {
      world.things[condition]!.real.notify(count);
      world.things[condition]!.queue.wake(count);
    },
  };
}

/** Cancels it: the waiting calls reject, and so do all that come. Holders stay. */
export function cancel(thing: string): Step {
  const reason = new Error(`${thing} is cancelled`);
  return does(`cancels ${thing}`, [thing], (world) => world.things[thing]!.real.cancel(reason), (world) => {
    const { queue } = world.things[thing]!;
    queue.closed = true;
    queue.cancel(() => true);
  });
}

/** Sets the limit of a thing of which `from` could be held. */
export function setLimit(thing: string, from: number, to: number): Step {
  const set = `sets the limit of ${thing} to ${to}`;
  return does(set, [thing], (world) => world.things[thing]!.real.limit = to, (world) => {
    const { queue } = world.things[thing]!;
    queue.free += to - from;
    queue.pump();
  });
}

/** A writer becomes a reader. */
export function downgrade(thing: string): Step {
  return {
    text: `downgrades ${thing}`,
    on: [thing],
    run: (world, task) => {
      task.guard = (task.guard as unknown as WriterGuard).downgrade();
      world.things[thing]!.queue.lighten(task.name, 1);
    },
  };
}
