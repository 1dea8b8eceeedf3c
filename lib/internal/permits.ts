/**
 * A number of permits and a queue: the core of Semaphore, and of RwLock, where a reader takes one permit and a writer
 * takes all.
 *
 * @module
 */
import { type QueueOptions, withName } from "./check.ts";
import type { CancelLimits, QueueToServe } from "./cancellation.ts";
import { Hold, type Owner } from "./hold.ts";
import { hook, step } from "./hook.ts";
import { Waiter, WaitQueue } from "./wait_queue.ts";

/** The owner of holds: the permits themselves, or a side of a RwLock. */
export interface PermitsOwner extends Owner {
  /** Creates a hold for permits that are taken. */
  hold(permits: number): Hold;
}

export class Permits implements PermitsOwner, QueueToServe {
  // queue.size > 0 implies that the first waiter wants more than value. value <= most; value is below 0 while more
  // permits are taken than a lowered `most` allows.
  /** The number of free permits. */
  value: number;
  /** The number of permits, taken and free. */
  most: number = Number.MAX_SAFE_INTEGER;
  readonly queue: WaitQueue<Hold>;
  readonly name: string | undefined;

  constructor(value: number, { name, maxWaiting }: QueueOptions, Queue = WaitQueue<Hold>) {
    this.value = value;
    this.name = name;
    this.queue = new Queue(this, maxWaiting);
  }

  get kind(): string {
    return "semaphore";
  }

  hold(permits: number): Hold {
    return new Hold(this, permits);
  }

  /** False while a limit of 0 pauses it. */
  waitsForRelease(): boolean {
    return this.most > 0;
  }

  /** Whether a new call for this number of permits need not wait. */
  fits(permits: number): boolean {
    return permits <= this.value && this.queue.size === 0;
  }

  /** Takes permits that fit. Throws if closed. */
  tryAcquire(owner: PermitsOwner, permits: number): Hold | undefined {
    this.queue.checkOpen(owner);
    if (!this.fits(permits)) return undefined;
    this.value -= permits;
    const hold = owner.hold(permits);
    hook?.grant(owner, hold, permits);
    return hold;
  }

  /** The maximum number of permits for a new call; unlimited while a limit of 0 pauses it. */
  get largest(): number {
    return this.most || Number.MAX_SAFE_INTEGER;
  }

  /** Sets the number of permits, taken and free. Revokes none; grants to the waiters that fit now. */
  setMost(most: number): void {
    this.value += most - this.most;
    this.most = most;
    step(() => this.serve());
  }

  /** Takes permits or waits for them. Throws if closed. */
  acquire(owner: PermitsOwner, permits: number, limits?: CancelLimits): Promise<Hold> {
    const hold = this.tryAcquire(owner, permits);
    return hold === undefined ? this.queue.wait(new Waiter(owner, permits), limits) : Promise.resolve(hold);
  }

  onRelease(permits: number): void {
    this.add(permits);
    this.serve();
  }

  /** Adds permits without a guard, and grants to the waiters that fit now. */
  give(permits: number): void {
    this.add(permits);
    step(() => {
      hook?.giveBack(this, permits);
      this.serve();
    });
  }

  /** Grants to the waiters that fit now. */
  serve(): void {
    while (this.value > 0) {
      const next = this.queue.peek();
      if (next === undefined) return;
      const { permits } = next;
      if (permits > this.value) return; // granting smaller requests first would starve this one
      this.value -= permits;
      this.queue.unlink(next);
      const owner = next.target as PermitsOwner;
      const hold = owner.hold(permits);
      next.resolve(hold);
      hook?.grant(owner, next, permits, hold);
    }
  }

  /** Adds free permits. TypeScript's `private`: a method named with # would make each semaphore larger. */
  private add(permits: number): void {
    if (permits > this.most - this.value) {
      const state = `${this.value} of ${this.most} permits are free, ${permits} more would exceed the limit`;
      throw new RangeError(`Cannot ${withName("release semaphore", this.name)}: ${state}`);
    }
    this.value += permits;
  }
}
