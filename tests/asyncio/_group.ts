/** A recorded program of a group, with our TaskGroup. */
import { TaskGroup } from "../../mod.ts";
import { untilAborted } from "../_group_tasks.ts";
import { deferred, watch, type Watched } from "../_tools.ts";
import type { Program } from "./_replay.ts";

class Failure extends Error {
  readonly index: number | "block";

  constructor(index: number | "block") {
    super(`failure ${index}`);
    this.index = index;
  }
}

interface Task {
  readonly work: ReturnType<typeof deferred<void>>;
  readonly clean: ReturnType<typeof deferred<string>>;
  begun: boolean;
  watched: Watched<void>;
}

/** A block around a group, as in asyncio: cancelling the parent or the first failure interrupts the block. */
export class Group implements Program {
  readonly #parent = new AbortController();
  #group!: TaskGroup;
  readonly #block = deferred();
  readonly #tasks: Task[] = [];
  #outcome = "open";

  constructor() {
    this.#run();
  }

  async #run(): Promise<void> {
    try {
      await TaskGroup.scope(async (group) => {
        this.#group = group;
        await Promise.race([this.#block.promise, untilAborted(group.signal)]);
      }, { signal: this.#parent.signal });
    } catch (error) {
      const errors = error instanceof AggregateError ? error.errors : [error];
      // Where asyncio has failures, it leaves the cancellation out; here it is one of the errors.
      const failed = errors.filter((one) => one instanceof Failure).map(({ index }) => index);
      this.#outcome = failed.length > 0 ? `failed ${failed}` : "cancelled";
      return;
    }
    this.#outcome = "ok";
  }

  move(text: string): void {
    const [move, index, how] = text.split(" ") as [string, number, string];
    const task = this.#tasks[index]!;
    if (move === "start") this.#start(text.endsWith("stubborn"));
    else if (move === "end") this.#block.resolve();
    else if (move === "throw") this.#block.reject(new Failure("block"));
    else if (move === "cancel") this.#parent.abort();
    else if (move === "finish") task.work.resolve();
    else if (move === "fail") task.work.reject(new Failure(Number(index)));
    else task.clean.resolve(how);
  }

  #start(isStubborn: boolean): void {
    const index = this.#tasks.length;
    const [work, clean] = [deferred(), deferred<string>()];
    const task: Task = { work, clean, begun: false, watched: undefined! };
    this.#tasks.push(task);
    task.watched = watch(this.#group.run(async (signal) => {
      task.begun = true;
      try {
        await Promise.race([work.promise, untilAborted(signal)]);
      } catch (error) {
        if (error !== signal.reason || error instanceof Failure && error.index === index || !isStubborn) throw error;
        const end = await clean.promise;
        if (end === "raise") throw error;
        if (end === "fail") throw new Failure(index);
      }
    }));
  }

  state(): string {
    return `${this.#tasks.map((task, index) => this.#letter(task, index)).join("")} ${this.#outcome}`;
  }

  #letter({ begun, watched: { state, reason } }: Task, index: number): string {
    if (state === "pending") return "w";
    if (state === "fulfilled") return ".";
    if (!begun) return "x";
    return reason instanceof Failure && reason.index === index ? "e" : "c";
  }
}
