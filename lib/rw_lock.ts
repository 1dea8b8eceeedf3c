/**
 * As many permits as there can be, with one queue: a reader takes one of them, a writer takes all.
 *
 * @module
 */
import { admit, named, promised, readName } from "./internal/check.ts";
import { Permits } from "./internal/permits.ts";
import { Hold, type Owner, runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import { show } from "./internal/show.ts";
import type { Acquirable, Guard, NameOptions, WaitOptions } from "./types.ts";

const ALL = Number.MAX_SAFE_INTEGER;

/** One side of a {@linkcode RwLock}. */
export interface RwLockSide extends Acquirable<Guard> {
  /** Whether this side is held. */
  readonly locked: boolean;
  /** The number of waiters of this side. */
  readonly waiting: number;
  /** The guard if the other side is not held and the queue is empty, else undefined. A writer also waits for writers. */
  tryAcquire(): Guard | undefined;
}

/**
 * Many readers or one writer.
 *
 * Not for short critical sections: with little to read a {@linkcode Lock} is cheaper. A reader cannot become a writer:
 * acquiring `writer` while holding `reader` deadlocks.
 *
 * **Fairness**: one queue for both sides, strictly first come, first served. A reader waits behind a waiting writer, so
 * neither side starves.
 *
 * **Cancellation**: on abort or time-out a waiter leaves the queue in O(1); readers that waited only behind a cancelled
 * writer are granted at once.
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
  /** The shared side: any number of holders, while there is no writer. */
  readonly reader: RwLockSide;
  /** The exclusive side: one holder, while there are no readers. */
  readonly writer: RwLockSide;

  readonly #permits: Permits;

  static {
    show(RwLock, ["name", "reader", "writer"]);
  }

  /**
   * A lock without holders.
   *
   * @param options Its name.
   * @throws {TypeError} when the name is not a string.
   */
  constructor(options?: NameOptions) {
    const permits = this.#permits = new Permits(ALL, readName(options));
    this.reader = new Side(permits, "reader");
    this.writer = new Side(permits, "writer");
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#permits.name;
  }
}

class Side implements RwLockSide, Owner {
  readonly kind: "reader" | "writer";
  readonly #permits: Permits;

  static readonly name = "RwLockSide";

  static {
    setPlace(Side, (side) => ({ owner: side.#permits }));
    show(Side, ["name", "locked", "waiting"]);
  }

  constructor(permits: Permits, kind: "reader" | "writer") {
    this.#permits = permits;
    this.kind = kind;
  }

  get name(): string | undefined {
    return this.#permits.name;
  }

  get share(): number {
    return this.kind === "writer" ? ALL : 1;
  }

  get operation(): string {
    return named(`acquire ${this.kind} side`, this.name);
  }

  get group(): object {
    return this.#permits;
  }

  get locked(): boolean {
    // No permit is free while there is a writer; all are free while there is no holder.
    const { value } = this.#permits;
    return this.share === ALL ? value === 0 : value > 0 && value < ALL;
  }

  get waiting(): number {
    const { size, large } = this.#permits.queue; // writers want more than one permit
    return this.share === ALL ? large : size - large;
  }

  acquire(options?: WaitOptions): Promise<Guard> {
    return promised(() => this.#permits.acquire(new Hold(this, this.share), admit(options)));
  }

  tryAcquire(): Guard | undefined {
    return this.#permits.fit(this.share) ? this.#permits.take(new Hold(this, this.share)) : undefined;
  }

  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  onRelease(hold: Hold): void {
    this.#permits.onRelease(hold);
  }
}
