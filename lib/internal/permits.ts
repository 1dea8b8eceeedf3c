/**
 * A number of permits and a queue: the core of Semaphore, and of RwLock, where a reader takes one permit and a writer
 * takes all.
 *
 * @module
 */
import { named, type WaitLimits } from "./check.ts";
import type { Hold, Owner } from "./hold.ts";
import { hook } from "./hook.ts";
import { assertSoundWaitQueue } from "./sound.ts";
import { type QueueOwner, WaitQueue } from "./wait_queue.ts";
import { grant, permitsOf, reportGrant, waitsFor } from "./waiter.ts";

export class Permits implements Owner, QueueOwner {
  // queue.size > 0 implies that the first waiter wants more than value. value <= most; it is below 0 where a lowered most
  // has left too many taken.
  value: number;
  most: number = Number.MAX_SAFE_INTEGER;
  readonly queue: WaitQueue<Hold, Hold>;
  readonly name: string | undefined;

  constructor(value: number, name?: string, maxWaiting?: number) {
    this.value = value;
    this.name = name;
    this.queue = new WaitQueue(this, maxWaiting);
  }

  get kind(): string {
    return "semaphore";
  }

  get operation(): string {
    return named("acquire semaphore", this.name);
  }

  checkOpen(): void {
    this.queue.checkOpen(this);
  }

  /** Not while a limit of 0 pauses it. */
  waitsForRelease(): boolean {
    return this.most > 0;
  }

  /** Whether a newcomer that wants this many permits need not wait. */
  fit(permits: number): boolean {
    return permits <= this.value && this.queue.size === 0;
  }

  /** For a hold that fits. */
  take(hold: Hold): Hold {
    this.value -= permitsOf(hold);
    if (hook !== undefined) reportGrant(hold);
    return hold;
  }

  /** The most that a newcomer may want. While there are none at all, it waits for better times. */
  get largest(): number {
    return this.most || Number.MAX_SAFE_INTEGER;
  }

  /** Sets how many permits there are, taken and free. Revokes none; grants to the waiters that fit now. */
  setMost(most: number): void {
    this.value += most - this.most;
    this.most = most;
    this.afterLeave();
  }

  /** Takes or waits; throws if it is closed, with the operation of the hold's owner. */
  acquire(hold: Hold, limits?: WaitLimits): Promise<Hold> {
    if (this.queue.closed) this.queue.checkOpen(waitsFor(hold));
    return this.fit(permitsOf(hold)) ? Promise.resolve(this.take(hold)) : this.queue.wait(hold, limits);
  }

  onRelease(hold: Hold): void {
    this.add(permitsOf(hold));
    this.afterLeave();
  }

  /** Adds permits that no guard gives back, and grants to the waiters that fit now. */
  give(permits: number): void {
    this.add(permits);
    if (hook !== undefined) hook.giveBack(this, permits); // an observer may use this semaphore
    this.afterLeave();
  }

  /** Waiters that fit now are granted. */
  afterLeave(): void {
    while (this.value > 0) {
      const next = this.queue.peek();
      if (next === undefined) return;
      const permits = permitsOf(next);
      if (permits > this.value) return; // letting smaller ones pass would starve this one
      this.value -= permits; // first: leaving a foreign signal runs its code
      this.queue.shift(next);
      grant(next, next);
    }
  }

  /** `private` by type only: a method named with # would make each semaphore larger. */
  private add(permits: number): void {
    if (permits > this.most - this.value) {
      const state = `${this.value} of ${this.most} permits are free, ${permits} more are too many`;
      throw new RangeError(`Cannot ${named("release semaphore", this.name)}: ${state}`);
    }
    this.value += permits;
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundPermits({ value, most, queue }: Permits): void {
  assertSoundWaitQueue(queue);
  const [first] = queue.waiters();
  if (first !== undefined && permitsOf(first) <= value) {
    throw new Error(`unsound permits: the first waiter fits ${value}`);
  }
  if (value > most) throw new Error(`unsound permits: ${value} of ${most} are free`);
}
