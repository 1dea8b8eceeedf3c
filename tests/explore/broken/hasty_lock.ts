/** Broken on purpose: it reports a release while it is neither handed over nor held, which an observer makes use of. */
import { hook, type Resource } from "../../../lib/internal/hook.ts";
import { type Guard, once } from "./_once.ts";

export class HastyLock implements Resource {
  readonly kind = "lock";
  readonly name = undefined;
  #held = false;
  readonly #queue: (() => void)[] = [];

  get waiting(): number {
    return this.#queue.length;
  }

  acquire(): Promise<Guard> {
    const guard: Guard = once(() => {
      this.#held = false;
      hook?.release(this, guard);
      const next = this.#queue.shift();
      this.#held ||= next !== undefined;
      next?.();
    });
    if (this.#held) {
      const granted = new Promise<Guard>((resolve) =>
        this.#queue.push(() => {
          resolve(guard);
          hook?.grant(this, guard, 1);
        })
      );
      hook?.wait(this, guard, 1);
      return granted;
    }
    this.#held = true;
    hook?.grant(this, guard, 1);
    return Promise.resolve(guard);
  }
}
