/** Broken on purpose: a guard that was spent still releases, whoever holds by then. */
import { type Guard, once } from "./_once.ts";

export class StaleGuardLock {
  #held = false;
  readonly #line: ((guard: Guard) => void)[] = [];

  get waiting(): number {
    return this.#line.length;
  }

  acquire(): Promise<Guard> {
    if (this.#held) return new Promise((resolve) => this.#line.push(resolve));
    this.#held = true;
    return Promise.resolve(this.#guard());
  }

  #guard(): Guard {
    return once(() => {
      const next = this.#line.shift();
      if (next === undefined) this.#held = false;
      else next(this.#guard());
    }, Infinity);
  }
}
