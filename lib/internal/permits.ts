/**
 * A number of permits and a queue: the core of Semaphore, and of RwLock, where a reader takes one permit and a writer
 * takes all.
 *
 * @module
 */
import { named, type WaitLimits } from "./check.ts";
import type { Hold, Owner } from "./hold.ts";
import { hook } from "./hook.ts";
import { type QueueOwner, WaitQueue } from "./wait_queue.ts";
import { grant, reportGrant } from "./waiter.ts";

export class Permits implements Owner, QueueOwner {
  // queue.size > 0 implies that the first waiter wants more than value; value <= most
  value: number;
  most: number = Number.MAX_SAFE_INTEGER;
  readonly queue: WaitQueue<Hold, Hold> = new WaitQueue(this);
  readonly name: string | undefined;

  constructor(value: number, name?: string) {
    this.value = value;
    this.name = name;
  }

  get kind(): string {
    return "semaphore";
  }

  get operation(): string {
    return named("acquire semaphore", this.name);
  }

  /** Whether a newcomer that wants this many permits need not wait. */
  fit(permits: number): boolean {
    return permits <= this.value && this.queue.size === 0;
  }

  /** For a hold that fits. */
  take(hold: Hold): Hold {
    this.value -= hold.permits;
    if (hook !== undefined) reportGrant(hold);
    return hold;
  }

  /** Takes or waits. */
  acquire(hold: Hold, limits?: WaitLimits): Promise<Hold> {
    return this.fit(hold.permits) ? Promise.resolve(this.take(hold)) : this.queue.wait(hold, limits);
  }

  onRelease(hold: Hold): void {
    this.refuseExcess(hold.permits);
    this.add(hold.permits);
  }

  /** Adds permits that no guard gives back, and grants to the waiters that fit now. */
  give(permits: number): void {
    this.refuseExcess(permits);
    if (hook !== undefined) hook.giveBack(this, permits);
    this.add(permits);
  }

  /** Waiters that fit now are granted. */
  afterLeave(): void {
    while (this.value > 0) {
      const next = this.queue.peek();
      if (next === undefined || next.permits > this.value) return; // letting smaller ones pass would starve this one
      this.queue.shift(next);
      this.value -= next.permits;
      grant(next, next);
    }
  }

  // `private` by type only: methods named with # would cost each semaphore 8 bytes.

  private refuseExcess(permits: number): void {
    if (permits <= this.most - this.value) return;
    const state = `${this.value} of ${this.most} permits are free, ${permits} more are too many`;
    throw new RangeError(`Cannot ${named("release semaphore", this.name)}: ${state}`);
  }

  private add(permits: number): void {
    this.value += permits;
    this.afterLeave();
  }
}
