/**
 * One holder and its line: what Lock and KeyedMutex are made of, and what a Condition borrows from.
 *
 * @module
 */
import { refusal } from "./cancellation.ts";
import { settle, WaitQueue } from "./wait_queue.ts";
import { Hold, type Keeper } from "./hold.ts";
import type { Guard, WaitOptions } from "../types.ts";

export class Mutex implements Keeper {
  // line.size > 0 implies holder !== undefined
  holder: Hold | undefined = undefined;
  readonly line: WaitQueue<Hold, Hold> = new WaitQueue();

  get act(): string {
    return "acquire lock";
  }

  acquire(options?: WaitOptions): Promise<Guard> {
    return refusal(options) ?? this.enter(options);
  }

  /** The same with options that are checked by now. */
  enter(options: WaitOptions | undefined): Promise<Guard> {
    const hold = new Hold(this);
    if (this.holder !== undefined) return this.line.wait(hold, options);
    this.holder = hold;
    return Promise.resolve(hold);
  }

  tryAcquire(): Guard | undefined {
    if (this.holder !== undefined) return undefined;
    return this.holder = new Hold(this);
  }

  /** On to the next. */
  takeBack(): void {
    const next = this.holder = this.line.take();
    if (next !== undefined) settle(next, next);
    else this.idle();
  }

  /** Nobody holds and nobody waits any more. */
  protected idle(): void {}
}
