/**
 * Programs over a Queue. Its model is two queues: a put waits for a place and adds an item, a get waits for an item and
 * adds a place. Items are numbered as they go in, and each get has to get the next one.
 */
import { Queue } from "../../mod.ts";
import { assertSoundQueue } from "../../lib/queue.ts";
import { ModelQueue } from "./_model_queue.ts";
import type { Program, Step, Task, Thing, World } from "./_world.ts";

/** The real queue, and the items that went in and have to come out. */
class Tested {
  readonly queue: Queue<string>;
  readonly sent: string[] = [];
  /** By task: the item that its latest get has to get. */
  readonly expected = new Map<string, string | undefined>();

  constructor(capacity: number) {
    this.queue = new Queue(capacity);
  }
}

function things(capacity: number): Record<string, Thing> {
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

/** A call after the end is refused at once. */
function refuseAfterEnd(world: World, task: Task, thing: string, isOver: boolean): void {
  if (isOver) world.things[thing]!.queue.cancel((call) => call.task === task.name);
}

function put(item: string): Step {
  return {
    text: `puts ${item}`,
    on,
    run: (world, task) => {
      const { queue, sent } = world.things.items!.real as Tested;
      const isOver = queue.closed;
      const then = (outcome: "granted" | "cancelled" | "waits") => {
        task.call!.outcome = outcome;
        if (outcome !== "granted") return;
        sent.push(item);
        add(world, "items");
      };
      world.wait(task, "places", isOver ? Infinity : 1, () => queue.put(item, world.options(task)), { then });
      refuseAfterEnd(world, task, "places", isOver);
    },
  };
}

const get: Step = {
  text: "gets",
  on,
  run: (world, task) => {
    const { queue, sent, expected } = world.things.items!.real as Tested;
    const isOver = queue.closed && queue.size === 0;
    const then = (outcome: "granted" | "cancelled" | "waits") => {
      task.call!.outcome = outcome;
      if (outcome !== "granted") return;
      expected.set(task.name, sent.shift());
      add(world, "places");
    };
    const call = async () => {
      const item = await queue.get(world.options(task));
      if (item !== expected.get(task.name)) throw new Error(`got ${item}`);
    };
    world.wait(task, "items", isOver ? Infinity : 1, call, { then });
    refuseAfterEnd(world, task, "items", isOver);
  },
};

function end(how: "close" | "cancel"): Step {
  return {
    text: `${how}s`,
    on,
    run: (world) => {
      const { items, places } = world.things;
      (items!.real as Tested).queue[how]();
      if (how === "cancel") items!.queue.free = 0;
      for (const { queue } of [items!, places!]) queue.cancel(() => true);
    },
  };
}

const producer = (name: string): Step[] => [put(`${name}1`), put(`${name}2`)];

export const queuePrograms: readonly Program[] = [
  {
    name: "Queue: capacity 1, two producers, a consumer of three, one producer may be aborted",
    make: () => things(1),
    tasks: { A: producer("a"), B: producer("b"), C: [get, get, get] },
    aborts: ["B"],
    deadlocks: true, // the last put or get waits forever
  },
  {
    name: "Queue: unbounded, a producer, three consumers of which one may be aborted",
    make: () => things(Infinity),
    tasks: { A: producer("a"), B: [get], C: [get], D: [get] },
    aborts: ["C"],
    deadlocks: true,
  },
  {
    name: "Queue: capacity 1, closed at any moment",
    make: () => things(1),
    tasks: { A: producer("a"), B: [get, get], C: [end("close")], D: [put("d")] },
    deadlocks: true, // a task whose call is refused makes no further one
  },
  {
    name: "Queue: capacity 2, cancelled at any moment, one may be aborted",
    make: () => things(2),
    tasks: { A: producer("a"), B: [get, get], C: [end("cancel")] },
    aborts: ["B"],
    deadlocks: true,
  },
  {
    name: "Queue: capacity 1, a get and a put run out of time",
    make: () => things(1),
    tasks: { A: producer("a"), B: [get, get], C: [put("c")] },
    timeouts: { B: 10, C: 20 },
    deadlocks: true,
  },
];
