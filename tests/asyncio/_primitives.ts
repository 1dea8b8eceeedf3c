/** The calls of a recorded program, made with our primitives. */
import { Barrier, BoundedSemaphore, Condition, Event, Lock, Semaphore } from "../../mod.ts";
import { watch, type Watched } from "../_tools.ts";
import type { Program, Recorded } from "./_replay.ts";

export interface RecordedPrimitives extends Recorded {
  readonly things: readonly string[];
}

type Thing = Lock | Event | Semaphore | Condition | Barrier;

/** One task: its present call, and the outcome of its last one. */
interface Task {
  doing: Watched<unknown> | undefined;
  controller: AbortController;
  last: string;
}

export function primitives({ things: names }: RecordedPrimitives): Program {
  const things = make(names);
  const tasks = Array.from(
    { length: 4 },
    (): Task => ({ doing: undefined, controller: new AbortController(), last: "." }),
  );
  return {
    move: (text) => {
      const [index, call, ...name] = text.split(" ");
      const task = tasks[Number(index)]!;
      if (call === "cancel") task.controller.abort(new Error("cancelled"));
      else start(task, things.get(name.join(" "))!, call!);
    },
    state: () => {
      tasks.forEach(look);
      return [tasks.map(({ last }) => last).join(""), ...[...things.values()].map(state)].join(" ");
    },
  };
}

function make(names: readonly string[]): Map<string, Thing> {
  const things = new Map<string, Thing>();
  for (const name of names) {
    const [kind, count] = name.split(" ");
    things.set(name, makers[kind!]!(Number(count), things));
  }
  return things;
}

const makers: Record<string, (count: number, things: Map<string, Thing>) => Thing> = {
  lock: () => new Lock(),
  event: () => new Event(),
  semaphore: (count) => new Semaphore(count),
  bounded: (count) => new BoundedSemaphore(count),
  barrier: (count) => new Barrier(count),
  condition: (_, things) => new Condition(things.get("lock") as Lock),
};

/** The names are asyncio's, in camelCase. */
function start(task: Task, thing: Thing, call: string): void {
  task.controller = new AbortController();
  const waits = call === "acquire" || call === "wait";
  const options = waits ? [{ signal: task.controller.signal }] : [];
  const method = (thing as unknown as Record<string, (...args: unknown[]) => unknown>)[call]!;
  task.doing = watch((async () => await method.apply(thing, options))());
}

function look(task: Task): void {
  const { doing, controller } = task;
  if (doing === undefined) return;
  task.last =
    { pending: "w", fulfilled: ".", rejected: doing.reason === controller.signal.reason ? "c" : "e" }[doing.state];
  if (doing.state !== "pending") task.doing = undefined;
}

function state(thing: Thing): string {
  if (thing instanceof Condition) return `${thing.waiting}`;
  const number = thing instanceof Lock
    ? Number(thing.locked)
    : thing instanceof Semaphore
    ? thing.value
    : Number(thing instanceof Event ? thing.isSet : thing.broken);
  return `${number}/${thing.waiting}`;
}
