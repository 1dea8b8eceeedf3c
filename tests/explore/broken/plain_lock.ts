/** Broken on purpose: a lock whose cancelled waiters stay in the queue, and are handed the lock one day. */
import type { Guard, WaitOptions } from "../../../mod.ts";
import { guardOf } from "./_guard.ts";

export class PlainLock {
  #held = false;
  readonly #queue: ((guard: Guard) => void)[] = [];
  readonly #releases: number;

  /** @param releases How often each guard releases, whichever task holds by then. */
  constructor(releases = 1) {
    this.#releases = releases;
  }

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
    return guardOf(() => {
      const next = this.#queue.shift();
      if (next === undefined) this.#held = false;
      else next(this.#guard());
    }, this.#releases);
  }
}
