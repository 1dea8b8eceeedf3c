/** Broken on purpose: a cancelled waiter stays in the queue, and the lock is handed to it one day. */
import type { WaitOptions } from "../../../mod.ts";
import { type Guard, once } from "./_once.ts";

export class GhostWaiterLock {
  #held = false;
  readonly #queue: ((guard: Guard) => void)[] = [];

  acquire({ signal }: WaitOptions = {}): Promise<Guard> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve(this.#guard());
    }
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(signal!.reason); // and the queue knows nothing of it
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#queue.push((guard) => {
        signal?.removeEventListener("abort", giveUp);
        resolve(guard);
      });
    });
  }

  #guard(): Guard {
    return once(() => {
      const next = this.#queue.shift();
      if (next === undefined) this.#held = false;
      else next(this.#guard());
    });
  }
}
