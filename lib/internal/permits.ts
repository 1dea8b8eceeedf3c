/**
 * A number of permits and the line of those who want some: what Semaphore is made of, and RwLock, where a reader takes
 * one permit and a writer takes all.
 *
 * @module
 */
import { settle, WaitQueue } from "./wait_queue.ts";
import type { Hold, Keeper } from "./hold.ts";
import type { WaitOptions } from "../types.ts";

export class Permits implements Keeper {
  readonly act = "acquire semaphore";
  // line.size > 0 implies that the first in line wants more than value; value <= most
  value: number;
  most: number = Number.MAX_SAFE_INTEGER;
  readonly line: WaitQueue<Hold, Hold> = new WaitQueue(() => this.#pump());

  constructor(value: number) {
    this.value = value;
  }

  /** Whether a newcomer that wants so many need not wait. */
  fit(permits: number): boolean {
    return permits <= this.value && this.line.size === 0;
  }

  /** For a hold that fits. */
  take(hold: Hold): Hold {
    this.value -= hold.permits;
    return hold;
  }

  /** Takes or waits. */
  acquire(hold: Hold, options?: WaitOptions): Promise<Hold> {
    return this.fit(hold.permits) ? Promise.resolve(this.take(hold)) : this.line.wait(hold, options);
  }

  takeBack(hold: Hold): void {
    this.give(hold.permits);
  }

  /** Gives permits back, or makes new ones, and lets in who fits now. */
  give(permits: number): void {
    if (permits > this.most - this.value) {
      throw new RangeError(
        `Cannot release semaphore: ${this.value} of ${this.most} permits are free, ${permits} more are too many`,
      );
    }
    this.value += permits;
    this.#pump();
  }

  #pump(): void {
    while (this.value > 0) {
      const next = this.line.peek();
      if (next === undefined || next.permits > this.value) return; // letting smaller ones pass would starve this one
      this.line.shift(next);
      settle(this.take(next), next);
    }
  }
}
