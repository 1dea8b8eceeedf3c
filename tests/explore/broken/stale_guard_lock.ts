/** Broken on purpose: a spent guard still releases, whichever task holds by then. */
import { type Guard, once } from "./_once.ts";

export class StaleGuardLock {
  #held = false;
  readonly #queue: ((guard: Guard) => void)[] = [];

  get waiting(): number {
    return this.#queue.length;
  }

  acquire(): Promise<Guard> {
    if (this.#held) return new Promise((resolve) => this.#queue.push(resolve));
    this.#held = true;
    return Promise.resolve(this.#guard());
  }

  #guard(): Guard {
    return once(() => {
      const next = this.#queue.shift();
      if (next === undefined) this.#held = false;
      else next(this.#guard());
    }, Infinity);
  }
}
