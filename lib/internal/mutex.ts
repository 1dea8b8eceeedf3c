/**
 * One holder and a queue: the core of Lock and KeyedMutex. A Condition borrows its hold.
 *
 * @module
 */
import type { CancelLimits } from "./cancellation.ts";
import type { QueueOptions } from "./check.ts";
import { Hold, type Owner } from "./hold.ts";
import { hook } from "./hook.ts";
import { Waiter, WaitQueue } from "./wait_queue.ts";
import type { Guard } from "../types.ts";

export class Mutex implements Owner {
  // queue.size > 0 implies holder !== undefined
  holder: Hold | undefined;
  readonly queue: WaitQueue<Hold>;
  readonly name: string | undefined;

  constructor({ name, maxWaiting }: QueueOptions) {
    this.name = name;
    this.queue = new WaitQueue(undefined, maxWaiting);
  }

  get kind(): string {
    return "lock";
  }

  /** Throws if closed. */
  acquire(limits?: CancelLimits): Promise<Guard> {
    const guard = this.tryAcquire();
    return guard === undefined ? this.queue.wait(new Waiter(this), limits) : Promise.resolve(guard);
  }

  tryAcquire(): Guard | undefined {
    this.queue.checkOpen(this);
    return this.holder === undefined ? this.take(new Hold(this)) : undefined;
  }

  /** Takes a free mutex. */
  take(hold: Hold): Hold {
    this.holder = hold;
    hook?.grant(this, hold, 1);
    return hold;
  }

  /** Hands off to the next waiter, or unlocks. Called even if the hold is only lent. */
  onRelease(): void {
    const next = this.queue.take();
    if (next === undefined) this.holder = undefined;
    else {
      next.resolve(this.holder = new Hold(this));
      hook?.grant(this, next, 1, this.holder); // a Condition sets its own hold
    }
  }
}
