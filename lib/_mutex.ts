/**
 * One holder and its line: what Lock and KeyedMutex are made of, and what a Condition borrows from.
 *
 * @module
 */
import { refusal } from "./_exit.ts";
import { settle, WaitQueue } from "./_wait_queue.ts";
import { Hold, type Keeper } from "./guard.ts";
import type { Guard, WaitOptions } from "./types.ts";

export class Mutex implements Keeper {
  // line.size > 0 implies holder !== undefined
  holder: Hold | undefined = undefined;
  readonly line: WaitQueue<Hold, Hold> = new WaitQueue();

  get act(): string {
    return "acquire lock";
  }

  acquire(options?: WaitOptions): Promise<Guard> {
    const refused = refusal(options);
    if (refused !== undefined) return refused;
    const hold = new Hold(this);
    if (this.holder !== undefined) return this.line.wait(hold, options);
    this.holder = hold.begin();
    return Promise.resolve(hold);
  }

  tryAcquire(): Guard | undefined {
    if (this.holder !== undefined) return undefined;
    return this.holder = new Hold(this).begin();
  }

  takeBack(): void {
    this.#pass();
  }

  /** The holder gives the lock up for a while. `onDropped` tells that it will not want it back. */
  lend(hold: Hold, onDropped: () => void): void {
    hold.lend(onDropped);
    this.#pass();
  }

  /** The other end of {@linkcode lend}: in line like everybody, without a way to give up. */
  retake(hold: Hold, onBack: () => void): void {
    if (this.holder !== undefined) return this.line.join(hold, onBack, unreachable);
    this.holder = hold.begin();
    onBack();
  }

  /** Nobody holds and nobody waits any more. */
  protected idle(): void {}

  #pass(): void {
    const next = this.holder = this.line.take();
    if (next !== undefined) settle(next.begin(), next);
    else this.idle();
  }
}

function unreachable(): void {}
