/** Broken on purpose: a flight that has failed stays, and the next call gets its failure. */
import { SingleFlight, type WaitOptions } from "../../../mod.ts";

export class StickyFlight extends SingleFlight<string> {
  #failure: Promise<never> | undefined;

  override run<T>(key: string, fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return this.#failure ?? super.run(key, (signal) => this.#keep(fn, signal), options);
  }

  async #keep<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
    try {
      return await fn(signal);
    } catch (error) {
      this.#failure = Promise.reject(error);
      this.#failure.catch(() => {});
      throw error;
    }
  }
}
