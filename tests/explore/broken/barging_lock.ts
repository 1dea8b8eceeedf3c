/** Broken on purpose: the releaser unlocks and wakes the first waiter, which has to be quicker than newcomers. */
import { guardOf } from "./_guard.ts";

export class BargingLock {
  #held = false;
  readonly #queue: (() => void)[] = [];

  get waiting(): number {
    return this.#queue.length;
  }

  async acquire() {
    while (this.#held) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#held = true;
    return guardOf(() => {
      this.#held = false;
      this.#queue.shift()?.();
    });
  }
}
