/**
 * One listener for all calls that wait with one signal: with one for each, adding and removing them would take longer the
 * more there are. Invariant: it is there exactly while somebody waits.
 *
 * @module
 */
import { onceFor } from "./once.ts";

class Crowd {
  readonly #signal: AbortSignal;
  readonly #members = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(member: () => void): void {
    if (this.#members.size === 0) this.#signal.addEventListener("abort", this);
    this.#members.add(member);
  }

  delete(member: () => void): void {
    if (this.#members.delete(member) && this.#members.size === 0) this.#signal.removeEventListener("abort", this);
  }

  handleEvent(): void {
    for (const member of this.#members) member();
  }
}

/** Who wants to be called when it aborts, in the order in which they were added. */
export const crowdOf: (signal: AbortSignal) => Crowd = onceFor((signal) => new Crowd(signal));
