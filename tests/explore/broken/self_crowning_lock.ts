/** Broken on purpose: a woken waiter makes itself the holder when it resumes, which is too late. */
import { once } from "./_once.ts";

export class SelfCrowningLock {
  #held = false;
  readonly #queue: (() => void)[] = [];

  get waiting(): number {
    return this.#queue.length;
  }

  async acquire() {
    if (this.#held || this.#queue.length > 0) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#held = true;
    return once(() => {
      this.#held = false;
      this.#queue.shift()?.();
    });
  }
}
