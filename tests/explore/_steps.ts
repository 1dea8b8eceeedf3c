/** The steps that programs are made of: what each asks of the real thing, and what the model makes of it. */
import type { Guard, WaitOptions } from "../../mod.ts";
import { type Fate, Line } from "./_line.ts";
import type { Step, Thing } from "./_world.ts";

/** Whatever hands out guards, as the steps call it. */
export interface Holdable {
  acquire(options?: WaitOptions): Promise<Guard>;
  readonly waiting?: number | undefined;
}

/** Something that `room` fit into, next to its model. */
export function holdable(real: Holdable, room = 1): Thing {
  return { real, line: new Line(room), waiting: () => real.waiting };
}

/** Something that is waited for and hands out nothing. */
export function gate(real: { readonly waiting: number }): Thing {
  return { real, line: new Line(0), waiting: () => real.waiting };
}

/** Waits to be let in. */
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

/** Gives back what it holds: a second time, too, if the program says so. */
export function release(thing: string): Step {
  return {
    text: `releases ${thing}`,
    on: [thing],
    run: (world, task) => {
      task.guard?.release();
      world.things[thing]!.line.leave(task.name);
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
      const { real, line } = world.things[thing]!;
      real[call](...args);
      line.room = opens ? Infinity : 0;
      line.pump();
    },
  };
}

/** Waits at a barrier of so many parties. */
export function meet(thing: string, parties: number): Step {
  return {
    text: `comes to ${thing}`,
    on: [thing],
    run: (world, task) => {
      const { real, line } = world.things[thing]!;
      world.wait(task, thing, Infinity, () => real.wait(world.options(task)));
      if (line.waiting.length === parties) line.wake(parties);
    },
  };
}

/** Waits for a notification: gives up `lock`, stands in `condition`'s line, and takes `lock` back whichever way it ends. */
export function waitOn(condition: string, lock: string): Step {
  return {
    text: `waits on ${condition}`,
    on: [condition, lock],
    run: (world, task) => {
      const { real } = world.things[condition]!;
      const { line } = world.things[lock]!;
      const takeBack = (fate: Fate) =>
        line.join({ ...call, weight: 1, patient: true, deadline: Infinity, then: () => call.fate = fate });
      const wait = () => real.wait(world.options(task));
      const call = world.wait(task, condition, Infinity, wait, { goesOn: true, then: takeBack });
      // An aborted signal rejects before the lock is given up.
      if (call.fate === "waits") line.leave(task.name);
    },
  };
}

/** Notifies so many of those who wait. */
export function notify(condition: string, lock: string, count = 1): Step {
  return {
    text: `notifies ${count}`,
    on: [condition, lock],
    run: (world) => {
      world.things[condition]!.real.notify(count);
      world.things[condition]!.line.wake(count);
    },
  };
}
