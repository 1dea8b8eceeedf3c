/** Broken on purpose: a lane that starves equals. Of two calls with the same priority, the later one comes first. */
import { Pool, type TaskOptions } from "../../../mod.ts";

export class StarvingPool extends Pool {
  #calls = 0;

  override run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options: TaskOptions = {}): Promise<T> {
    return super.run(fn, { ...options, priority: (options.priority ?? 0) + ++this.#calls / 1000 });
  }
}
