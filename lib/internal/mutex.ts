/**
 * One holder and its queue: the core of Lock and KeyedMutex, from which a Condition borrows.
 *
 * @module
 */
import { named, type WaitLimits } from "./check.ts";
import { Hold, type Owner } from "./hold.ts";
import { hook } from "./hook.ts";
import { assertSoundWaitQueue } from "./sound.ts";
import { WaitQueue } from "./wait_queue.ts";
import { grant, reportGrant } from "./waiter.ts";
import type { Guard } from "../types.ts";

export class Mutex implements Owner {
  // queue.size > 0 implies holder !== undefined
  holder: Hold | undefined = undefined;
  readonly queue: WaitQueue<Hold, Hold>;
  readonly name: string | undefined;

  constructor(name?: string, maxWaiting?: number) {
    this.name = name;
    this.queue = new WaitQueue(undefined, maxWaiting);
  }

  get kind(): string {
    return "lock";
  }

  get operation(): string {
    return named("acquire lock", this.name);
  }

  checkOpen(): void {
    this.queue.checkOpen(this);
  }

  /** Throws if it is closed. */
  acquire(limits?: WaitLimits): Promise<Guard> {
    this.checkOpen();
    const hold = new Hold(this); // once for both: engines compile a rare branch badly, and keep it
    return this.holder === undefined ? Promise.resolve(takeFree(this, hold)) : this.queue.wait(hold, limits);
  }

  tryAcquire(): Guard | undefined {
    this.checkOpen();
    return this.holder === undefined ? takeFree(this, new Hold(this)) : undefined;
  }

  /** Hands off to the next waiter, or unlocks: also when the hold is only lent. */
  onRelease(): void {
    const next = this.holder = this.queue.take();
    if (next !== undefined) grant(next, next);
    else this.onIdle();
  }

  /** Unlocked, and the queue is empty. */
  protected onIdle(): void {}
}

/** For a mutex that is free. A function, because a private method would make each mutex larger. */
export function takeFree(mutex: Mutex, hold: Hold): Hold {
  mutex.holder = hold;
  if (hook !== undefined) reportGrant(hold);
  return hold;
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundMutex({ holder, queue }: Mutex): void {
  assertSoundWaitQueue(queue);
  if (queue.size > 0 && holder === undefined) {
    throw new Error(`unsound mutex: ${queue.size} wait, and there is no holder`);
  }
  if (holder !== undefined && !holder.held) throw new Error("unsound mutex: its holder does not hold");
}
