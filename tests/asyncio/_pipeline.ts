/** Recorded producers and consumers in a group, with our Queue and TaskGroup. */
import { Queue, TaskGroup } from "../../mod.ts";
import { deferred } from "../_tools.ts";
import type { RecordedQueue } from "./_queue.ts";
import type { Program } from "./_replay.ts";

export class Pipeline implements Program {
  readonly #parent = new AbortController();
  readonly #queue: Queue<number>;
  readonly #gates: ReturnType<typeof deferred<void>>[] = [];
  readonly #states = ["w", "w", "w", "w"];
  readonly #last = ["-", "-", "-", "-"];
  #items = 0;
  #outcome = "open";

  constructor({ capacity }: RecordedQueue) {
    this.#queue = new Queue(capacity || Infinity);
    this.#run();
  }

  /** The number of the task is the reason of its failure. */
  async #run(): Promise<void> {
    const { signal } = this.#parent;
    try {
      await TaskGroup.scope((group) => {
        for (let index = 0; index < 4; index++) void group.run((signal) => this.#task(index, signal));
      }, { signal });
    } catch (error) {
      const failed = error instanceof AggregateError ? error.errors : [error];
      this.#outcome = signal.aborted ? "cancelled" : `failed ${failed.sort()}`;
    }
  }

  async #task(index: number, signal: AbortSignal): Promise<void> {
    try {
      await (index < 2 ? this.#produce(index, signal) : this.#consume(index, signal));
    } finally {
      this.#states[index] = ".";
    }
  }

  async #produce(index: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#told(index, signal);
      const item = this.#items++;
      await this.#queue.put(item, { signal });
      this.#last[index] = `${item}`;
    }
  }

  async #consume(index: number, signal: AbortSignal): Promise<void> {
    for await (const item of this.#queue.values({ signal })) {
      this.#last[index] = `${item}`;
      await this.#told(index, signal);
    }
  }

  async #told(index: number, signal: AbortSignal): Promise<void> {
    this.#states[index] = "g";
    const gate = this.#gates[index] = deferred();
    signal.addEventListener("abort", () => gate.reject(signal.reason));
    await gate.promise;
    this.#states[index] = "w";
  }

  move(text: string): void {
    const [move, ...indices] = text.split(" ") as [string, ...number[]];
    if (move === "cancel") this.#parent.abort();
    for (const index of indices) {
      if (move === "go") this.#gates[index]!.resolve();
      else this.#gates[index]!.reject(Number(index));
    }
  }

  state(): string {
    const tasks = this.#states.map((state, index) => state + this.#last[index]);
    return `${tasks.join(" ")} | ${this.#queue.size} | ${this.#outcome}`;
  }

  end(): void {
    this.#parent.abort();
  }
}
