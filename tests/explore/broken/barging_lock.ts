/** Broken on purpose: the releaser frees the lock and wakes the first in line, who has to be quicker than newcomers. */
import { once } from "./_once.ts";

export class BargingLock {
  #held = false;
  readonly #line: (() => void)[] = [];

  get waiting(): number {
    return this.#line.length;
  }

  async acquire() {
    while (this.#held) await new Promise<void>((resolve) => this.#line.push(resolve));
    this.#held = true;
    return once(() => {
      this.#held = false;
      this.#line.shift()?.();
    });
  }
}
