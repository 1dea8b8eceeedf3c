/** Three tasks that each hold several of three locks at once, in every order in which they can list them. */
import { acquireAll, Lock } from "../../mod.ts";
import type { WaitOptions } from "../../mod.ts";
import { watch } from "../_tools.ts";
import { holdable, work } from "./_steps.ts";
import { type Program, type Step, type Task, type Thing, Violation } from "./_world.ts";

/** Acquires all locks of a list; the guard gives all of them back. */
type AcquireAll = (locks: readonly Lock[], options?: WaitOptions) => Promise<{ release(): unknown }>;

/** For comparison: acquires in the order of the list. */
export const inListOrder: AcquireAll = async (locks, options) => {
  const guards: Disposable[] = [];
  const release = () => guards.splice(0).forEach((guard) => guard[Symbol.dispose]());
  try {
    for (const lock of locks) guards.push(await lock.acquire(options));
  } catch (error) {
    release();
    throw error;
  }
  return { release };
};

/** Programs in which A, B and C each visit their locks once. */
export function programsOf(acquire: AcquireAll, lists: readonly Lists[], aborts: readonly string[]): Program[] {
  return lists.map(([a, b, c]) => ({
    name: `acquireAll: A ${a.join("")}, B ${b.join("")}, C ${c.join("")}, ${aborts.join() || "none"} may be aborted`,
    make: () => {
      const locks = ["x", "y", "z"].map((name) => [name, lockThing()] as const);
      return Object.fromEntries(locks);
    },
    tasks: { A: visitAll(acquire, a), B: visitAll(acquire, b), C: visitAll(acquire, c) },
    aborts,
  }));
}

type Lists = readonly [readonly string[], readonly string[], readonly string[]];

const orders = [["x", "y", "z"], ["x", "z", "y"], ["y", "x", "z"], ["y", "z", "x"], ["z", "x", "y"], ["z", "y", "x"]];
/** All three locks, in all orders; A's is the same, since the locks are. */
export const allThree: readonly Lists[] = orders.flatMap((b) => orders.map((c): Lists => [orders[0]!, b, c]));
/** Two neighbouring locks each, as at a round table. */
export const neighbours: readonly Lists[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits): Lists => {
  const pair = (list: string[], bit: number) => bits & bit ? list.reverse() : list;
  return [pair(["x", "y"], 1), pair(["y", "z"], 2), pair(["z", "x"], 4)];
});

function lockThing(): Thing {
  return { ...holdable(new Lock()), waiting: () => 0 }; // a call moves from one queue to the next, which no model queue shows
}

function visitAll(acquire: AcquireAll, names: readonly string[]): Step[] {
  return [
    {
      text: `acquires ${names.join(", ")}`,
      on: names,
      run: (world, task) => {
        const locks = names.map((name) => world.things[name]!.real as Lock);
        observe(task, acquire(locks, world.options(task)));
      },
    },
    {
      text: `enters ${names.join(", ")}`,
      on: names,
      run: (world, task) => {
        for (const name of names) {
          const { queue } = world.things[name]!;
          const other = queue.holders[0]?.task;
          if (other !== undefined) throw new Violation(`exclusion: ${task.name} holds ${name}, and so does ${other}`);
          queue.join({ task: task.name, weight: 1, cancellable: false, deadline: Infinity, outcome: "waits" });
        }
      },
    },
    work,
    {
      text: `releases ${names.join(", ")}`,
      on: names,
      run: (world, task) => {
        task.guard?.release();
        for (const name of names) world.things[name]!.queue.leave(task.name);
      },
    },
  ];
}

/** Any outcome is right, as long as there is one. */
function observe(task: Task, promise: Promise<unknown>): void {
  const real = watch(promise);
  task.real = real;
  task.call = {
    task: task.name,
    weight: 1,
    cancellable: true,
    deadline: Infinity,
    get outcome() {
      return ({ pending: "waits", fulfilled: "granted", rejected: "cancelled" } as const)[real.state];
    },
  };
}

/** With the order that all callers share, no schedule of these deadlocks. */
export function ordered(lists: readonly Lists[], aborts: readonly string[]): Program[] {
  return programsOf(acquireAll, lists, aborts);
}

/** A few of them, for `deno task explore`. */
export const acquireAllPrograms: readonly Program[] = ordered([allThree[22]!, ...neighbours.slice(0, 2)], ["B"]);
