/**
 * One run of a small program under one schedule. Tasks are lists of steps; every step, every abort, every time-out and
 * every turn of the microtasks is an action that the schedule chooses. After each turn of the microtasks, the real
 * primitives are compared with their models.
 */
import { CountingController, FakeTime, flushMicrotasks, watch, type Watched } from "../_tools.ts";
import type { Call, ModelQueue, Outcome } from "./_model_queue.ts";

/** One step of a task. */
export interface Step {
  /** As it is printed: "acquires lock". */
  readonly text: string;
  /** The things that it touches. Steps of different tasks that share none can be swapped without any effect. */
  readonly on: readonly string[];
  run(world: World, task: Task): void;
}

/** A program: things, and tasks that use them. */
export interface Program {
  readonly name: string;
  /** Makes the things; their lines by name, and how many wait in the real one. */
  make(): Record<string, Thing>;
  readonly tasks: Readonly<Record<string, readonly Step[]>>;
  /** Tasks whose signal may abort, at any moment. */
  readonly aborts?: readonly string[];
  /** Milliseconds after which a task gives up whatever it waits for. */
  readonly timeouts?: Readonly<Record<string, number>>;
  /** Whether it may end with tasks that wait forever. */
  readonly deadlocks?: boolean;
}

/** A real thing next to its model. */
export interface Thing {
  // deno-lint-ignore no-explicit-any -- a step knows what it was made for
  readonly real: any;
  readonly queue: ModelQueue;
  /** How many wait in the real one, if it reports that. */
  waiting?(): number | undefined;
  /** Throws unless the invariant of the real one holds; called after every action. */
  sound?(): void;
  /** Moves the model on by what takes microtasks in the real one, which has done so; throws if they differ. */
  settle?(world: World): void;
}

export interface Task {
  readonly name: string;
  readonly steps: readonly Step[];
  /** How many steps it has begun. */
  at: number;
  /** Its last call, real and in the model. */
  real: Watched<unknown> | undefined;
  call: Call | undefined;
  guard: ({ release(): void; readonly held?: boolean } & Partial<Disposable>) | undefined;
  readonly controller: CountingController | undefined;
}

/** One step of a schedule: a task's name, "abort B", "time", or "~", which lets the microtasks run. */
export type Action = string;

export const MICROTASKS: Action = "~";

export class Violation extends Error {
  override readonly name = "Violation";
}

export class World {
  readonly program: Program;
  readonly things: Readonly<Record<string, Thing>>;
  readonly tasks: readonly Task[];
  readonly #time: FakeTime | undefined;
  now = 0;
  /** Whether something happened since the microtasks ran. */
  #stirred = false;
  readonly #aborted = new Set<string>();
  /** The history of each thing. Its next state depends on nothing else. */
  readonly #history = new Map<string, string>();
  constructor(program: Program) {
    this.program = program;
    this.#time = program.timeouts === undefined ? undefined : new FakeTime();
    this.things = program.make();
    this.tasks = Object.entries(program.tasks).map(([name, steps]) => {
      const controller = program.aborts?.includes(name) ? new CountingController() : undefined;
      return { name, steps, at: 0, real: undefined, call: undefined, guard: undefined, controller };
    });
  }

  /** Restores the clock. A call that still waits must not meet the clock of another run. */
  close(): void {
    this.#time?.advance(1e9);
    this.#time?.restore();
  }

  /** The options for a waiting call of this task. */
  options(task: Task): { signal?: AbortSignal; timeout?: number } | undefined {
    const timeout = this.program.timeouts?.[task.name];
    if (task.controller === undefined && timeout === undefined) return undefined;
    return {
      ...(task.controller && { signal: task.controller.signal }),
      ...(timeout !== undefined && { timeout }),
    };
  }

  /** Makes a real call, and the same one in the model. */
  wait(task: Task, thing: string, weight: number, real: () => Promise<unknown>, more: Partial<Call> = {}): Call {
    const { controller } = task;
    const deadline = this.now + (this.program.timeouts?.[task.name] ?? Infinity);
    const call: Call = {
      task: task.name,
      weight,
      cancellable: controller !== undefined || deadline < Infinity,
      deadline,
      outcome: "waits",
      ...more,
    };
    task.call = call;
    task.real = watch(real());
    const { queue } = this.things[thing]!;
    if (!queue.closed && this.#aborted.has(task.name)) call.outcome = "cancelled";
    else queue.join(call);
    return call;
  }

  /** The possible next actions; none when the program is over. */
  enabled(): Action[] {
    const steps = this.tasks.filter((task) => this.#ready(task)).map(({ name }) => name);
    const aborts = this.tasks.filter((task) => this.#mayAbort(task)).map(({ name }) => `abort ${name}`);
    const time = this.#deadlines().length > 0 ? ["time"] : [];
    return [...this.#stirred ? [MICROTASKS] : [], ...steps, ...aborts, ...time];
  }

  /** Does it. Only where the microtasks are to run does that take longer than this call. */
  act(action: Action): Promise<void> | undefined {
    if (action === MICROTASKS) return this.#settle();
    const [name, aborted] = action.split(" ").reverse();
    const task = this.tasks.find((one) => one.name === name);
    if (task === undefined) this.#passTime();
    else if (aborted === undefined) this.#step(task);
    else this.#abort(task);
    this.#checkSound();
    return undefined;
  }

  #checkSound(): void {
    for (const { sound } of Object.values(this.things)) {
      try {
        sound?.();
      } catch (error) {
        throw new Violation(`invariant: ${(error as Error).message}`);
      }
    }
  }

  /** Runs that share this text go on in the same ways, however they came here. */
  fingerprint(): string {
    const tasks = this.tasks.map(({ name, at, real }) => `${name}${at}${real?.state ?? ""}`);
    return [...tasks, this.#stirred, this.now, ...this.#aborted, ...this.#history.entries()].join("|");
  }

  /** The state after an action, as text. */
  describe(): string {
    return Object.entries(this.things).map(([name, { queue }]) => {
      const holders = queue.holders.map(({ task }) => task).join(" ");
      const waiting = queue.waiting.map(({ task }) => task).join(" ");
      return `${name}: ${holders ? `${holders} holds` : "no holder"}${waiting && `, ${waiting} waiting`}`;
    }).join("; ");
  }

  text(action: Action): string {
    if (action === MICROTASKS) return "microtasks run";
    if (action === "time") return "time passes";
    const task = this.tasks.find(({ name }) => name === action);
    return task === undefined ? `${action.slice(6)} is aborted` : `${action} ${task.steps[task.at]?.text ?? "?"}`;
  }

  /** Once nothing can happen any more. */
  checkEnd(): void {
    const stuck = this.tasks.filter((task) => {
      const { at, steps, call } = task;
      return call?.outcome === "waits" || at < steps.length && call?.outcome !== "cancelled";
    });
    if (stuck.length > 0 && !this.program.deadlocks) {
      throw new Violation(`deadlock: ${stuck.map(({ name }) => name).join(" and ")} can never go on`);
    }
    for (const { name, controller } of this.tasks) {
      const waits = this.#queueOf(name) !== undefined;
      if (controller && controller.listeners > 0 && !waits) {
        throw new Violation(`${name}'s signal still has a listener`);
      }
    }
    if (this.#time && this.#time.timers > this.#deadlines().length) throw new Violation("a timer is left");
  }

  #ready(task: Task): boolean {
    const { at, steps, call, real } = task;
    if (at >= steps.length) return false;
    return call === undefined || real!.state === "fulfilled" || real!.state === "rejected" && call.goesOn === true;
  }

  #mayAbort({ name, controller, call, at, steps }: Task): boolean {
    const mayAbort = controller !== undefined && this.program.aborts?.includes(name) && !this.#aborted.has(name);
    return mayAbort === true && (at < steps.length || call?.outcome === "waits");
  }

  #deadlines(): number[] {
    const things = Object.values(this.things);
    return things.flatMap(({ queue }) => queue.waiting.map(({ deadline }) => deadline)).filter((time) =>
      time < Infinity
    );
  }

  #queueOf(task: string): ModelQueue | undefined {
    return Object.values(this.things).find(({ queue }) => queue.waiting.some((call) => call.task === task))?.queue;
  }

  #step(task: Task): void {
    task.real = task.call = undefined;
    const step = task.steps[task.at++]!;
    this.#note(step.on, `${task.name}${task.at}`);
    step.run(this, task);
  }

  #abort(task: Task): void {
    this.#note(Object.keys(this.things), `abort ${task.name}`);
    this.#aborted.add(task.name);
    task.controller!.abort(new Error(`${task.name} is aborted`));
    this.#queueOf(task.name)?.cancel((call) => call.task === task.name && call.cancellable);
  }

  #passTime(): void {
    const next = Math.min(...this.#deadlines());
    this.#note(Object.keys(this.things), "time");
    this.#time!.advance(next - this.now);
    this.now = next;
    for (const { queue } of Object.values(this.things)) {
      for (const due of queue.waiting.filter(({ deadline }) => deadline <= next)) queue.cancel((call) => call === due);
    }
  }

  async #settle(): Promise<void> {
    await flushMicrotasks();
    this.#checkSound();
    for (const { settle } of Object.values(this.things)) settle?.(this);
    this.#note(Object.keys(this.things), MICROTASKS);
    const calls = this.tasks.filter(({ call }) => call !== undefined);
    // A task that was granted wrongly comes before the tasks that were not granted because of it.
    for (const task of [...calls.filter(({ real }) => real!.state === "fulfilled"), ...calls]) this.#compare(task);
    for (const task of calls) keepGuard(task);
    for (const [name, { queue, waiting }] of Object.entries(this.things)) {
      const difference = (waiting?.() ?? queue.waiting.length) - queue.waiting.length;
      if (difference > 0) throw new Violation(`left in queue: ${name} counts ${difference} who do not wait for it`);
      const missing = queue.waiting.slice(difference).map((call) => this.task(call.task));
      if (difference < 0) throw new Violation(`lost wake-up: ${names(missing)} should be waiting for ${name}`);
    }
  }

  /** Compares the last call of this task with the model. */
  #compare({ name, call, real }: Task): void {
    const did = ({ pending: "waits", fulfilled: "granted", rejected: "cancelled" } as const)[real!.state];
    if (did !== call!.outcome) throw new Violation(this.#complaint(name, call!.outcome, did));
  }

  #complaint(name: string, should: Outcome, did: Outcome): string {
    if (should === "waits" && did === "granted") {
      const holders = Object.values(this.things).flatMap(({ queue }) => queue.holders).map((call) =>
        this.task(call.task)
      );
      const really = holders.filter(({ call, real }) => call === undefined || real!.state === "fulfilled");
      if (really.length > 0) return `exclusion: ${name} was granted while ${names(really)} holds`;
      return `order: ${name} overtook ${names(holders)}`;
    }
    if (should === "granted" && did === "waits") return `lost wake-up: it is ${name}'s turn, and ${name} still waits`;
    if (should === "granted") return `grant: ${name} was rejected after it had been granted`;
    if (did === "waits") return `cancellation: ${name} was cancelled and still waits`;
    return `cancellation: ${name} ${
      should === "cancelled" ? "was cancelled and granted" : "was rejected without a reason"
    }`;
  }

  task(name: string): Task {
    return this.tasks.find((task) => task.name === name)!;
  }

  /** Notes an action on these things. */
  #note(things: readonly string[], what: string): void {
    if (things.length > 0) this.#stirred = what !== MICROTASKS;
    for (const thing of things) this.#history.set(thing, `${this.#history.get(thing) ?? ""} ${what}`);
  }
}

/** Keeps the guard that a call has granted. */
function keepGuard(task: Task): void {
  if (task.real?.value === undefined) return;
  task.guard = task.real.value as Task["guard"];
  delete task.real.value;
}

function names(tasks: readonly Task[]): string {
  return tasks.map(({ name }) => name).join(" and ");
}
