/**
 * Programs over functions that run in slots: those of a Pool or of a TaskGroup. Their model is a queue of places. The
 * beginnings and ends of functions take microtasks; in the model they happen when these have run, in the same order.
 */
import { Pool, TaskGroup } from "../../mod.ts";
import { assertSoundTaskGroup } from "../sound/task_group.ts";
import { assertSound } from "../sound/mod.ts";
import { deferred } from "../_tools.ts";
import { type Call, ModelQueue } from "./_model_queue.ts";
import { does, setLimit as setLimitOf } from "./_steps.ts";
import { type Deed, type Program, type Step, type Thing, Violation, type World } from "./_world.ts";

/** Calls functions, at most a number at a time. */
interface Runner {
  run(fn: () => Promise<void>, options?: { signal?: AbortSignal; priority?: number }): Promise<void>;
  readonly waiting: number;
}

/** A function that runs. */
interface Running {
  release(): void;
  fail(error: Error): void;
}

export class Slots implements Thing {
  readonly real: Runner;
  readonly queue: ModelQueue;
  readonly sound: () => void;
  /** The failures, in the order in which they happened. */
  readonly failures: Error[] = [];
  /** The steps for when the microtasks run. */
  readonly #soon: (() => void)[] = [];

  constructor(real: Runner, limit: number, sound: () => void) {
    this.real = real;
    this.queue = new ModelQueue(limit);
    this.sound = sound;
  }

  readonly waiting = () => this.real.waiting;

  readonly settle = (): void => {
    for (const happen of this.#soon) happen(); // also what is added meanwhile
    this.#soon.length = 0;
  };

  get isIdle(): boolean {
    return this.queue.holders.length + this.queue.waiting.length === 0;
  }

  /** Calls a function that runs until it is ended; resolves once it has begun. */
  begin(options: { signal?: AbortSignal; priority?: number }): Promise<Running> {
    return new Promise((resolve, reject) => {
      const gate = deferred();
      const fn = () => {
        resolve({ release: gate.resolve, fail: gate.reject });
        return gate.promise;
      };
      this.real.run(fn, options).then(undefined, reject);
    });
  }

  /** The place of `call` is granted. Until its function begins, it can still be cancelled. */
  granted(call: Call, isAborted: () => boolean): void {
    this.#soon.push(() => {
      const isCancelled = this.queue.closed || isAborted();
      call.outcome = isCancelled ? "cancelled" : "granted";
      if (isCancelled) this.queue.leave(call.task);
    });
  }

  ended(task: string, failure?: Error): void {
    this.#soon.push(() => {
      if (failure !== undefined) this.failures.push(failure);
      if (failure !== undefined) this.close();
      this.queue.leave(task);
    });
  }

  close(): void {
    this.queue.closed = true;
    this.queue.cancel(() => true);
  }
}

const on = ["slots"];

function slotsOf(world: World): Slots {
  return world.things.slots as Slots;
}

export function begin(priority = 0): Step {
  return {
    text: `calls a function${priority === 0 ? "" : ` of priority ${priority}`}`,
    on,
    run: (world, task) => {
      const slots = slotsOf(world);
      const then = (outcome: Call["outcome"]) => {
        if (outcome === "granted") slots.granted(task.call!, () => world.isAborted(task.name));
        else task.call!.outcome = outcome;
      };
      world.wait(task, "slots", 1, () => slots.begin({ ...world.options(task), priority }), { then, priority });
    },
  };
}

export const end: Step = {
  text: "ends its function",
  on,
  run: (world, task) => {
    task.guard!.release();
    slotsOf(world).ended(task.name);
  },
};

const fail: Step = {
  text: "fails in its function",
  on,
  run: (world, task) => {
    const failure = new Error(`failure of ${task.name}`);
    (task.guard as unknown as Running).fail(failure);
    slotsOf(world).ended(task.name, failure);
  },
};

export const cancellingSlots: Deed = {
  real: (world) => (slotsOf(world).real as Pool | TaskGroup).cancel(new Error("cancelled")),
  model: (world) => slotsOf(world).close(),
};

const cancel = does("cancels all", on, cancellingSlots);

const setLimit = (from: number, to: number): Step => setLimitOf("slots", from, to);

/** Calls that wait until a group has ended, and the failures that they have to throw. */
class Joining implements Thing {
  readonly real: TaskGroup;
  readonly queue = new ModelQueue(0);
  readonly #slots: Slots;
  readonly #thrown: unknown[][] = [];

  constructor(real: TaskGroup, slots: Slots) {
    this.real = real;
    this.#slots = slots;
  }

  async join(): Promise<void> {
    try {
      await this.real.join();
      this.#thrown.push([]);
    } catch (error) {
      this.#thrown.push(error instanceof AggregateError ? error.errors : [error]);
      throw error;
    }
  }

  readonly settle = (): void => {
    const { failures, isIdle } = this.#slots;
    for (const thrown of this.#thrown.splice(0)) {
      const isRight = thrown.length === failures.length && thrown.every((error, index) => error === failures[index]);
      if (isIdle && !isRight) throw new Violation(`failures: join threw ${thrown.length} of ${failures.length}`);
    }
    if (!isIdle) return;
    if (failures.length > 0) this.queue.cancel(() => true);
    else this.queue.wake(Infinity);
  };
}

const join: Step = {
  text: "joins",
  on: ["slots", "joining"],
  run: (world, task) => {
    const joining = world.things.joining as Joining;
    const { isIdle, failures } = slotsOf(world);
    const call = world.wait(task, "joining", 1, () => joining.join());
    if (!isIdle) return;
    joining.queue.remove(task.name); // it need not wait
    call.outcome = failures.length > 0 ? "cancelled" : "granted";
  },
};

/** One slot: two calls of equal priority and a greater one. */
export function lanes(name: string, make: (limit: number) => Runner): Program {
  return {
    name: `${name}: one slot, calls of two priorities, one may be aborted`,
    make: () => {
      const pool = make(1);
      return { slots: new Slots(pool, 1, () => assertSound(pool)) };
    },
    tasks: { A: [begin(), end], B: [begin(1), end], C: [begin(), end], D: [begin(1), end] },
    aborts: ["B"],
  };
}

/** A limit that falls to 0 and rises. */
export function pausedPool(name: string, make: (limit: number) => Runner): Program {
  return {
    name: `${name}: its limit falls to 0 and rises, one may be aborted`,
    make: () => {
      const pool = make(2);
      return { slots: new Slots(pool, 2, () => assertSound(pool)) };
    },
    tasks: { A: [begin(), end], B: [begin(), end], C: [begin(), end], D: [setLimit(2, 0), setLimit(0, 1)] },
    aborts: ["B"],
  };
}

function groupThings(group: TaskGroup, limit: number): Record<string, Thing> {
  const slots = new Slots(group, limit, () => assertSoundTaskGroup(group));
  return { slots, joining: new Joining(group, slots) };
}

/** Two of three tasks fail. */
export function failing(name: string, make: (limit: number) => TaskGroup): Program {
  return {
    name: `${name}: two places, two of three tasks fail, joined at any moment`,
    make: () => groupThings(make(2), 2),
    tasks: { A: [begin(), fail], B: [begin(), fail], C: [begin(), end], D: [join] },
  };
}

export const slotPrograms: readonly Program[] = [
  lanes("Pool", (limit) => new Pool(limit)),
  pausedPool("Pool", (limit) => new Pool(limit)),
  {
    name: "Pool: cancelled at any moment, one may be aborted",
    make: () => {
      const pool = new Pool(1);
      return { slots: new Slots(pool, 1, () => assertSound(pool)) };
    },
    tasks: { A: [begin(), end], B: [begin(), end], C: [begin(1), end], D: [cancel] },
    aborts: ["B"],
  },
  failing("TaskGroup", (limit) => new TaskGroup({ limit })),
  {
    name: "TaskGroup: one place, one task fails, cancelled and joined at any moment",
    make: () => groupThings(new TaskGroup({ limit: 1 }), 1),
    tasks: { A: [begin(), end], B: [begin(), fail], C: [cancel], D: [join] },
  },
];
