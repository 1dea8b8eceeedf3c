/**
 * Many moments at which something ends, and one timer for all of them: a timer each would cost more than what it guards.
 * Invariant: while there are any, the timer is set for the earliest of them or sooner.
 *
 * @module
 */
import { Alarm, now } from "./clock.ts";

export class Deadlines {
  readonly #ends = new Map<() => void, number>();
  readonly #alarm = new Alarm(() => this.#ring(), true);

  /** Calls `end` at that moment, unless it was deleted before. */
  add(at: number, end: () => void): void {
    this.#ends.set(end, at);
    this.#alarm.advance(at);
  }

  delete(end: () => void): void {
    if (this.#ends.delete(end) && this.#ends.size === 0) this.#alarm.clear();
  }

  #ring(): void {
    const time = now();
    let next = Infinity;
    for (const [end, at] of this.#ends) {
      if (at > time) {
        next = Math.min(next, at);
        continue;
      }
      this.#ends.delete(end);
      end();
    }
    this.#alarm.advance(next);
  }
}
