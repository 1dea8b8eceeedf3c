/** The calls of a recorded program, made with our Queue. */
import { Queue } from "../../mod.ts";
import { watch, type Watched } from "../_tools.ts";
import type { Program, Recorded } from "./_replay.ts";

export interface RecordedQueue extends Recorded {
  /** 0 is asyncio's word for no limit. */
  readonly capacity: number;
}

const TASKS = 5;

export function ofQueue({ capacity }: RecordedQueue): Program {
  const queue = new Queue<number>(capacity || Infinity);
  const doing: (Watched<string> | undefined)[] = Array(TASKS).fill(undefined);
  const last = Array<string>(TASKS).fill(".");
  const controllers = Array.from({ length: TASKS }, () => new AbortController());
  let items = 0;
  const calls: Record<string, (signal: AbortSignal) => Promise<string>> = {
    put: async (signal) => (await queue.put(items++, { signal }), "."),
    get: async (signal) => String(await queue.get({ signal })),
    join: async (signal) => (await queue.join({ signal }), "."),
    taskDone: async () => await Promise.resolve(isDone(queue) ? "." : "e"),
    tryPut: async () => await Promise.resolve(queue.tryPut(items++) ? "." : "e"),
    tryGet: async () => await Promise.resolve(String(queue.tryGet()?.value ?? "e")),
  };
  return {
    move: (text) => {
      const [index, call] = text.split(" ") as [number, string];
      if (call === "cancel") controllers[index]!.abort();
      else doing[index] = watch(calls[call]!((controllers[index] = new AbortController()).signal));
    },
    state: () => {
      doing.forEach((one, i) => {
        if (one === undefined) return;
        last[i] = one.state === "pending" ? "w" : one.value ?? "c";
        if (one.state !== "pending") doing[i] = undefined;
      });
      return `${last.join(" ")} | ${queue.size} ${queue.getting} ${queue.putting}`;
    },
  };
}

function isDone(queue: Queue<number>): boolean {
  try {
    queue.taskDone();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
