/** Makes the moves of a recorded program with our Queue, and writes down the state as the recorder does. */
import { Queue } from "../../mod.ts";
import { flushMicrotasks, watch, type Watched } from "../_tools.ts";

/** A program, and asyncio's state after each of its moves. */
export interface RecordedQueue {
  /** 0 is asyncio's word for no limit. */
  readonly capacity: number;
  readonly moves: readonly string[];
  readonly trace: readonly string[];
}

const TASKS = 5;

/** The states of our queue after the same moves. */
export async function replayQueue({ capacity, moves }: RecordedQueue): Promise<string[]> {
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
  const trace: string[] = [];
  for (const move of moves) {
    const [index, call] = move.split(" ") as [number, string];
    if (call === "cancel") controllers[index]!.abort();
    else doing[index] = watch(calls[call]!((controllers[index] = new AbortController()).signal));
    await flushMicrotasks();
    doing.forEach((one, i) => {
      if (one === undefined) return;
      last[i] = one.state === "pending" ? "w" : one.value ?? "c";
      if (one.state !== "pending") doing[i] = undefined;
    });
    trace.push(`${last.join(" ")} | ${queue.size} ${queue.getting} ${queue.putting}`);
  }
  return trace;
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
