/**
 * As many permits as there can be: a reader takes one, a writer takes all of them, in one line.
 *
 * @module
 */
import { admit, named, promised } from "./internal/check.ts";
import { Permits } from "./internal/permits.ts";
import { Hold, type Owner, runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import type { Acquirable, Guard, WaitOptions } from "./types.ts";

const ALL = Number.MAX_SAFE_INTEGER;

/** One side of a {@linkcode RwLock}. */
export interface RwLockSide extends Acquirable<Guard> {
  /** Whether somebody holds it on this side. */
  readonly locked: boolean;
  /** How many are in line on this side. */
  readonly waiting: number;
  /** The guard if nobody on the other side holds and nobody waits, else undefined. */
  tryAcquire(): Guard | undefined;
}

/**
 * Many readers or one writer.
 *
 * Not for short critical sections: with little to read a {@linkcode Lock} is cheaper. A reader cannot become a writer:
 * who holds `reader` and acquires `writer` waits for itself.
 *
 * **Fairness**: one line for both sides, strictly first come, first served. A reader that comes after a waiting writer
 * waits for it, so neither side starves.
 *
 * **Cancellation**: on abort or time-out a waiter leaves the line in O(1); readers that waited only behind a writer that
 * gave up go in at once.
 *
 * @example
 * ```ts
 * import { RwLock } from "@interlock/interlock";
 *
 * const table = new RwLock();
 * {
 *   using _a = await table.reader.acquire();
 *   using _b = await table.reader.acquire();
 *   console.log(table.writer.tryAcquire()); // undefined
 * }
 * await table.writer.run(() => console.log(table.writer.locked)); // true
 * ```
 */
export class RwLock {
  /** The shared side: any number of holders, as long as nobody writes. */
  readonly reader: RwLockSide;
  /** The exclusive side: one holder, while nobody reads. */
  readonly writer: RwLockSide;

  /** Nobody reads, nobody writes. */
  constructor() {
    const permits = new Permits(ALL);
    this.reader = new Side(permits, 1, "reader");
    this.writer = new Side(permits, ALL, "writer");
  }
}

class Side implements RwLockSide, Owner {
  readonly kind: string;
  readonly name: string | undefined;
  readonly #permits: Permits;
  readonly #share: number;

  static {
    setPlace(Side, (side) => ({ owner: side.#permits }));
  }

  constructor(permits: Permits, share: number, kind: string) {
    this.#permits = permits;
    this.#share = share;
    this.kind = kind;
    this.name = permits.name;
  }

  get operation(): string {
    return named(`acquire ${this.kind} side`, this.name);
  }

  get group(): object {
    return this.#permits;
  }

  get locked(): boolean {
    // The free permits tell it all: none while somebody writes, all while nobody is inside.
    const { value } = this.#permits;
    return this.#share === ALL ? value === 0 : value > 0 && value < ALL;
  }

  get waiting(): number {
    return this.#permits.queue.waiters().filter((hold) => hold.permits === this.#share).length;
  }

  acquire(options?: WaitOptions): Promise<Guard> {
    return promised(() => this.#permits.acquire(new Hold(this, this.#share), admit(options)));
  }

  tryAcquire(): Guard | undefined {
    return this.#permits.fit(this.#share) ? this.#permits.take(new Hold(this, this.#share)) : undefined;
  }

  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  onRelease(hold: Hold): void {
    this.#permits.onRelease(hold);
  }
}
