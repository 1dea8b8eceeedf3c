/**
 * Programs over a Queue. Its model is two queues: a put waits for a place and adds an item, a get waits for an item and
 * adds a place. Items are numbered as they go in, and each get has to get the next one.
 */
import { Queue, type WaitOptions } from "../../mod.ts";
import { assertSoundQueue } from "../sound/queue.ts";
import { ModelQueue } from "./_model_queue.ts";
import { does } from "./_steps.ts";
import type { Deed, Program, Step, Thing, World } from "./_world.ts";

/** The real queue, and the items that went in and have to come out. */
export class Tested {
  readonly queue: Queue<string>;
  readonly sent: string[] = [];
  /** By task: the item that its latest get has to get. */
  readonly expected = new Map<string, string | undefined>();

  constructor(capacity: number) {
    this.queue = new Queue(capacity);
  }

  /** Gets the item that this task is expected to get. */
  async get(task: string, options?: WaitOptions): Promise<void> {
    const item = await this.queue.get(options);
    if (item !== this.expected.get(task)) throw new Error(`got ${item}`);
  }
}

export function queueThings(capacity: number): Record<string, Thing> {
  const real = new Tested(capacity);
  const { queue } = real;
  return {
    items: { real, queue: new ModelQueue(0), waiting: () => queue.getting, sound: () => assertSoundQueue(queue) },
    places: { real, queue: new ModelQueue(capacity), waiting: () => queue.putting },
  };
}

const on = ["items", "places"];

function add(world: World, thing: string): void {
  const { queue } = world.things[thing]!;
  queue.free++;
  queue.pump();
}

export function put(item: string): Step {
  return {
    text: `puts ${item}`,
    on,
    run: (world, task) => {
      const { queue, sent } = world.things.items!.real as Tested;
      const then = (outcome: "granted" | "cancelled" | "waits") => {
        task.call!.outcome = outcome;
        if (outcome !== "granted") return;
        sent.push(item);
        add(world, "items");
      };
      world.wait(task, "places", 1, () => queue.put(item, world.options(task)), { then });
    },
  };
}

export const get: Step = {
  text: "gets",
  on,
  run: (world, task) => {
    const tested = world.things.items!.real as Tested;
    const { sent, expected } = tested;
    const then = (outcome: "granted" | "cancelled" | "waits") => {
      task.call!.outcome = outcome;
      if (outcome !== "granted") return;
      expected.set(task.name, sent.shift());
      add(world, "places");
    };
    const call = () => tested.get(task.name, world.options(task));
    world.wait(task, "items", 1, call, { then });
  },
};

/** Closes or cancels it. */
export function ending(how: "close" | "cancel"): Deed {
  return {
    real: (world) => (world.things.items!.real as Tested).queue[how](),
    model: (world) => {
      const { items, places } = world.things;
      if (how === "cancel") items!.queue.free = 0;
      places!.queue.closed = true;
      items!.queue.closed = "once nothing is free";
      for (const { queue } of [places!, items!]) queue.cancel(() => true);
    },
  };
}

function end(how: "close" | "cancel"): Step {
  return does(`${how}s`, on, ending(how));
}

const producer = (name: string): Step[] => [put(`${name}1`), put(`${name}2`)];

export const queuePrograms: readonly Program[] = [
  {
    name: "Queue: capacity 1, two producers, a consumer of three, one producer may be aborted",
    make: () => queueThings(1),
    tasks: { A: producer("a"), B: producer("b"), C: [get, get, get] },
    aborts: ["B"],
    deadlocks: true, // the last put or get waits forever
  },
  {
    name: "Queue: unbounded, a producer, three consumers of which one may be aborted",
    make: () => queueThings(Infinity),
    tasks: { A: producer("a"), B: [get], C: [get], D: [get] },
    aborts: ["C"],
    deadlocks: true,
  },
  {
    name: "Queue: capacity 1, closed at any moment",
    make: () => queueThings(1),
    tasks: { A: producer("a"), B: [get, get], C: [end("close")], D: [put("d")] },
    deadlocks: true, // a task whose call is refused makes no further one
  },
  {
    name: "Queue: capacity 2, cancelled at any moment, one may be aborted",
    make: () => queueThings(2),
    tasks: { A: producer("a"), B: [get, get], C: [end("cancel")] },
    aborts: ["B"],
    deadlocks: true,
  },
  {
    name: "Queue: capacity 1, a get and a put run out of time",
    make: () => queueThings(1),
    tasks: { A: producer("a"), B: [get, get], C: [put("c")] },
    timeouts: { B: 10, C: 20 },
    deadlocks: true,
  },
];
