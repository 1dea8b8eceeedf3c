/**
 * Programs with an observer, or a signal of B's call, that acts in the middle of what it is called for: it aborts a call,
 * disposes of a guard, acquires, cancels. The things have to be as the moment says by then, and to look again behind it.
 */
import {
  Barrier,
  BoundedSemaphore,
  Condition,
  Event,
  KeyedMutex,
  KeyedSemaphore,
  Lock,
  Pool,
  RwLock,
  Semaphore,
  SetEvent,
  type WaitOptions,
  type WriterGuard,
} from "../../mod.ts";
import { assertSound } from "../_sound.ts";
import { sides } from "./limits.ts";
import { ending, get, put, queueThings, type Tested } from "./queue.ts";
import type { Moment } from "./_model_queue.ts";
import { begin, cancellingSlots, end, Slots } from "./slots.ts";
import {
  acquire,
  cancelling,
  downgrade,
  gate,
  type Holdable,
  holdable,
  limiting,
  notify,
  release,
  releasingDuringWait,
  turn,
  turning,
  wait,
  waitOn,
  work,
} from "./_steps.ts";
import type { Deed, Program, Step, Thing, World } from "./_world.ts";

/** Things, the steps of A, B and C with them, and the deeds that may happen in B's call. */
export interface Subject {
  readonly name: string;
  make(): Record<string, Thing>;
  /** The first step of D is a call that an act may make. */
  readonly tasks: Program["tasks"];
  /** The call of D, on the real things. */
  call(world: World): Promise<unknown>;
  readonly moments?: readonly Moment[];
  readonly deeds: Readonly<Record<string, Deed>>;
  /** Which step of B makes the call. */
  readonly step?: number;
  readonly deadlocks?: boolean;
  readonly timeouts?: Program["timeouts"];
}

const SIGNALS: readonly Moment[] = ["checked", "aborted", "add", "remove", "reason"];
const ALL: readonly Moment[] = ["wait", "grant", "giveUp", "release", ...SIGNALS];
const GATE: readonly Moment[] = ALL.filter((at) => at !== "release");

function aborts(name: string): Deed {
  return {
    real: (world) => world.abortReal(world.task(name)),
    model: (world) => world.abortModel(world.task(name)),
  };
}

const disposesOfA: Deed = {
  real: (world) => world.task("A").guard?.[Symbol.dispose]?.(),
  model: (world) => {
    if (world.task("A").guard !== undefined) world.things.thing!.queue.leave("A");
  },
};

const downgradesA: Deed = {
  real: (world) => {
    const task = world.task("A");
    if ((task.guard as WriterGuard | undefined)?.held) task.guard = (task.guard as unknown as WriterGuard).downgrade();
  },
  model: (world) => {
    const { queue } = world.things.thing!;
    const holds = queue.holders.some(({ task }) => task === "A");
    if (holds && world.task("A").guard !== undefined) queue.lighten("A", 1);
  },
};

/** The deeds of an act: those of B, C and D, which are possible anywhere, and the subject's own. */
function deedsOf({ deeds, call }: Subject, at: Moment): Record<string, Deed> {
  return {
    "aborts C": aborts("C"),
    ...SIGNALS.includes(at) && { "aborts B": aborts("B") },
    "calls for D": {
      real: (world) => world.startReal("D", () => call(world)),
      model: (world) => world.startModel("D"),
    },
    ...deeds,
  };
}

/** A program of one act. */
export function acted(subject: Subject, at: Moment, deed: string): Program {
  const { name, make, tasks, step, deadlocks, timeouts } = subject;
  const who = SIGNALS.includes(at) ? "a signal" : "an observer";
  return {
    name: `${name}: ${who} ${deed} in B's ${at}`,
    make,
    tasks,
    aborts: [
      ...["giveUp", "remove", "reason"].includes(at) ? ["B"] : [],
      ...deed.startsWith("aborts ") && deed !== "aborts B" ? [deed.slice(-1)] : [],
    ],
    act: { at, of: "B", step, ...deedsOf(subject, at)[deed]!, starts: "D" },
    ...deadlocks && { deadlocks },
    ...timeouts && { timeouts },
  };
}

/** All programs of a subject. */
export function actedAll(subject: Subject): Program[] {
  const { moments = ALL } = subject;
  return moments.flatMap((at) => Object.keys(deedsOf(subject, at)).map((deed) => acted(subject, at, deed)));
}

const visit = (weight = 1, call = "acquire"): Step[] => [acquire("thing", weight, call), work, release("thing")];

/** A thing with this weight free, of which A and B want so much. */
export function held(
  name: string,
  make: () => Holdable | Thing,
  [free, a, b]: readonly [free: number, a: number, b: number] = [1, 1, 1],
  more: Partial<Subject> = {},
): Subject {
  const thing = (made: Holdable | Thing) => "queue" in made ? made : holdable(made, free);
  return {
    name,
    make: () => ({ thing: thing(make()) }),
    tasks: { A: visit(a), B: visit(b), C: visit(), D: [acquire("thing"), release("thing")] },
    call: ({ things }) => things.thing!.real.acquire(),
    ...more,
    deeds: { "disposes of A": disposesOfA, cancels: cancelling("thing"), ...more.deeds },
  };
}

/** One key of many. */
function keyed(all: KeyedMutex<string> | KeyedSemaphore<string>, free: number): Thing {
  const real = {
    acquire: (options?: WaitOptions) => all.acquire("key", options),
    cancel: (reason: unknown) => all.cancel(reason),
    get waiting() {
      return all.waiting("key");
    },
  };
  return { ...holdable(real, free), sound: () => assertSound(all) };
}

/** The barrier sends those away that wait, and perhaps all that come. */
function breaking(call: "abort" | "reset", isBroken: boolean): Deed {
  return {
    real: ({ things }) => things.thing!.real[call](),
    model: ({ things }) => {
      things.thing!.queue.closed = isBroken;
      things.thing!.queue.cancel(() => true);
    },
  };
}

/** A thing that opens for all: two wait for it, and one opens it. */
function opened(
  name: string,
  make: () => Event | SetEvent<number>,
  turns: Step[],
  deeds: Record<string, Deed>,
): Subject {
  return {
    name,
    make: () => ({ thing: gate(make()) }),
    tasks: { A: [wait("thing")], B: [wait("thing")], C: [wait("thing")], D: [wait("thing")], E: turns },
    call: ({ things }) => things.thing!.real.wait(),
    moments: GATE,
    deeds,
    deadlocks: true,
  };
}

export const subjects: readonly Subject[] = [
  held("Lock", () => new Lock()),
  held("Semaphore", () => new Semaphore(2), [2, 1, 2]),
  held("BoundedSemaphore", () => new BoundedSemaphore(3), [3, 2, 2], {
    deeds: { "raises the limit": limiting("thing", 3, 4), "lowers the limit": limiting("thing", 3, 2) },
  }),
  held("RwLock, B writes", () => sides(new RwLock()).lock!, [3, 1, 3], {
    tasks: { A: visit(), B: visit(3, "write"), C: visit(), D: [acquire("thing"), release("thing")] },
  }),
  held("RwLock, A writes", () => sides(new RwLock()).lock!, [3, 3, 1], {
    tasks: { A: visit(3, "write"), B: visit(), C: visit(3, "write"), D: [acquire("thing"), release("thing")] },
    deeds: { "downgrades A": downgradesA },
  }),
  held("RwLock, B downgrades", () => sides(new RwLock()).lock!, [3, 1, 3], {
    tasks: {
      A: visit(),
      B: [acquire("thing", 3, "write"), downgrade("thing"), release("thing")],
      C: visit(3, "write"),
      D: [acquire("thing"), release("thing")],
    },
    step: 2,
    moments: ["release"],
  }),
  held("KeyedMutex", () => keyed(new KeyedMutex(), 1)),
  held("KeyedSemaphore", () => keyed(new KeyedSemaphore(2), 2), [2, 1, 2]),
  {
    name: "Condition",
    make: () => {
      const lock = new Lock();
      return { thing: holdable(lock), condition: gate(new Condition(lock)) };
    },
    tasks: {
      A: [acquire("thing"), waitOn("condition", "thing"), release("thing")],
      B: [acquire("thing"), waitOn("condition", "thing"), release("thing")],
      C: [acquire("thing"), notify("condition", "thing", 2), release("thing")],
      D: [acquire("thing"), release("thing")],
    },
    step: 2,
    call: ({ things }) => things.thing!.real.acquire(),
    deeds: {
      "aborts A": aborts("A"),
      "releases A's guard": releasingDuringWait("A", "condition", "thing"),
      "cancels the condition": cancelling("condition"),
    },
    deadlocks: true,
  },
  opened("Event", () => new Event(), [turn("thing", "set", true), turn("thing", "clear", false)], {
    sets: turning("thing", "set", true),
    clears: turning("thing", "clear", false),
    cancels: cancelling("thing"),
  }),
  opened("SetEvent", () => new SetEvent([1]), [turn("thing", "delete", true, 1), turn("thing", "add", false, 1)], {
    empties: turning("thing", "delete", true, 1),
    fills: turning("thing", "add", false, 1),
  }),
  {
    name: "Barrier",
    make: () => ({ thing: gate(new Barrier(2)) }),
    tasks: { A: [wait("thing")], B: [wait("thing")], C: [wait("thing")], D: [wait("thing")] },
    call: ({ things }) => things.thing!.real.wait(),
    moments: GATE,
    deeds: { breaks: breaking("abort", true), resets: breaking("reset", false) },
    deadlocks: true,
  },
  {
    name: "Queue",
    make: () => queueThings(1),
    tasks: { A: [put("a1"), put("a2")], B: [get], C: [put("c"), get], D: [get] },
    call: ({ things }) => (things.items!.real as Tested).get("D"),
    moments: GATE,
    deeds: { closes: ending("close"), cancels: ending("cancel") },
    deadlocks: true,
  },
  {
    name: "Pool",
    make: () => {
      const pool = new Pool(1);
      return { slots: new Slots(pool, 1, () => assertSound(pool)) };
    },
    tasks: { A: [begin(), end], B: [begin(), end], C: [begin(1), end], D: [begin(), end] },
    call: ({ things }) => (things.slots as Slots).begin({}),
    moments: ["wait", "giveUp", "checked", "aborted"], // its signal is listened to until the function has ended
    deeds: { "raises the limit": limiting("slots", 1, 2), cancels: cancellingSlots },
  },
];
