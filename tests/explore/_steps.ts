/** The steps of programs: each calls the real thing and its model. */
import { assertSound } from "../_sound.ts";
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

/** A thing that is waited for and hands out nothing. */
export function gate(real: { readonly waiting: number }): Thing {
  return { real, queue: new ModelQueue(0), waiting: () => real.waiting, sound: () => assertSound(real) };
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

/** Something of its own to do. */
export const work: Step = { text: "works", on: [], run: () => {} };

/** Waits for an event or an empty set. */
export function wait(thing: string): Step {
  return {
    text: `waits for ${thing}`,
    on: [thing],
    run: (world, task) => void world.wait(task, thing, 1, () => world.things[thing]!.real.wait(world.options(task))),
  };
}

/** Opens a gate by `open`, or closes it by `close`. */
export function turn(thing: string, call: string, opens: boolean, ...args: unknown[]): Step {
  return {
    text: `${call}s ${thing}`,
    on: [thing],
    run: (world) => {
      const { real, queue } = world.things[thing]!;
      real[call](...args);
      queue.free = opens ? Infinity : 0;
      queue.pump();
    },
  };
}

/** Waits at a barrier of `parties` parties. */
export function meet(thing: string, parties: number): Step {
  return {
    text: `comes to ${thing}`,
    on: [thing],
    run: (world, task) => {
      const { real, queue } = world.things[thing]!;
      world.wait(task, thing, Infinity, () => real.wait(world.options(task)));
      if (queue.waiting.length === parties) queue.wake(parties);
    },
  };
}

/** Waits for a notification: releases `lock`, joins the queue of `condition`, and takes `lock` back either way. */
export function waitOn(condition: string, lock: string): Step {
  return {
    text: `waits on ${condition}`,
    on: [condition, lock],
    run: (world, task) => {
      const { real } = world.things[condition]!;
      const { queue } = world.things[lock]!;
      const takeBack = (outcome: Outcome) =>
        queue.join({
          ...call,
          weight: 1,
          cancellable: false,
          deadline: Infinity,
          isNotified: outcome === "granted",
          then: () => call.outcome = outcome,
        });
      const wait = () => real.wait(world.options(task));
      const call = world.wait(task, condition, Infinity, wait, { goesOn: true, then: takeBack });
      // An aborted signal rejects before the lock is given up.
      if (call.outcome === "waits") queue.leave(task.name);
    },
  };
}

/** Releases the guard of another task if that waits on `condition`: its wait ends without taking `lock` back. */
export function releaseDuringWait(other: string, condition: string, lock: string): Step {
  return {
    text: `releases ${other}'s guard if ${other} waits on ${condition}`,
    on: [condition, lock],
    run: (world) => {
      const { call, guard } = world.tasks.find(({ name }) => name === other)!;
      if (call?.goesOn !== true || call.outcome !== "waits") return;
      guard!.release();
      const waiters = world.things[condition]!.queue;
      const isNotified = waiters.remove(other) === undefined && world.things[lock]!.queue.remove(other)!.isNotified;
      call.outcome = "cancelled";
      if (isNotified) waiters.wake(1); // a notification for a wait that has ended belongs to the next one
    },
  };
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
  return {
    text: `cancels ${thing}`,
    on: [thing],
    run: (world) => {
      const { real, queue } = world.things[thing]!;
      real.cancel(new Error(`${thing} is cancelled`));
      queue.closed = true;
      queue.cancel(() => true);
    },
  };
}

/** Sets the limit of a thing of which `from` could be held. */
export function setLimit(thing: string, from: number, to: number): Step {
  return {
    text: `sets the limit of ${thing} to ${to}`,
    on: [thing],
    run: (world) => {
      const { real, queue } = world.things[thing]!;
      real.limit = to;
      queue.free += to - from;
      queue.pump();
    },
  };
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
