/** Broken on purpose: who is woken makes itself the holder when it resumes, which is too late. */
import { once } from "./_once.ts";

export class SelfCrowningLock {
  #held = false;
  readonly #line: (() => void)[] = [];

  get waiting(): number {
    return this.#line.length;
  }

  async acquire() {
    if (this.#held || this.#line.length > 0) await new Promise<void>((resolve) => this.#line.push(resolve));
    this.#held = true;
    return once(() => {
      this.#held = false;
      this.#line.shift()?.();
    });
  }
}
