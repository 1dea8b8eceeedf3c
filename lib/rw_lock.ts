/**
 * Many readers or one writer: the maximum number of permits and one queue. A reader takes one permit, a writer takes
 * all.
 *
 * @module
 */
import { admit, readQueueOptions, withName } from "./internal/check.ts";
import { NotHeldError } from "./errors.ts";
import { hook, step } from "./internal/hook.ts";
import { Permits, type PermitsOwner } from "./internal/permits.ts";
import { Hold, runHolding, setOwner } from "./internal/hold.ts";
import { setClassName } from "./internal/class_name.ts";
import { printAs } from "./internal/show.ts";
import { COPY, exposeState } from "./internal/state.ts";
import { closeQueues, type Waiter, WaitQueue } from "./internal/wait_queue.ts";
import { wrapFunction, type Wrapped } from "./internal/wrap.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/** The permits of the lock, all of which a writer takes. */
const ALL = Number.MAX_SAFE_INTEGER;

/**
 * One side of a {@linkcode RwLock}.
 *
 * @typeParam G The guard of this side.
 */
export interface RwLockSide<G extends Guard = Guard> extends Acquirable<G> {
  /** Whether this side is held. */
  readonly locked: boolean;
  /** The number of waiters of this side. */
  readonly waiting: number;
  /** Returns the guard if the queue is empty and no holder excludes this side, else undefined. */
  tryAcquire(): G | undefined;
  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`.
   *
   * @param fn The function to wrap.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>>;
}

/** The guard of a {@linkcode RwLockWriter}. */
export interface WriterGuard extends Guard {
  /**
   * Turns the hold into a reader's hold in one step: no writer gets in between, and readers that wait before the next
   * writer are granted too. This guard then holds nothing. Release the new guard, also in `run`, which releases only
   * the writer's hold.
   *
   * @returns The guard of the reader side.
   * @throws {NotHeldError} when the guard is not held.
   *
   * @example
   * ```ts
   * import { RwLock } from "@interlock/interlock";
   *
   * const table = new RwLock();
   * await table.writer.run((writing) => {
   *   using _reading = writing.downgrade();
   *   console.log(table.writer.locked, table.reader.locked); // false true
   * });
   * ```
   */
  downgrade(): Guard;
}

/** The exclusive side of a {@linkcode RwLock}, which neither readers nor another writer share. */
export interface RwLockWriter extends RwLockSide<WriterGuard> {}

/**
 * Many readers or one writer.
 *
 * For short critical sections, a {@linkcode Lock} is cheaper. A reader cannot become a writer: acquiring `writer` while
 * holding `reader` deadlocks.
 *
 * **Fairness**: one queue for both sides, strictly first come, first served. A reader waits behind a waiting writer, so
 * neither side starves.
 *
 * **Cancellation**: on abort or time-out a waiter leaves the queue in O(1); readers that waited only behind a cancelled
 * writer are granted at once.
 *
 * Not meant to be extended: wrap it in a class of your own.
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
  /** The shared side: any number of holders while no writer holds. */
  readonly reader: RwLockSide;
  /** The exclusive side: one holder while no reader holds. */
  readonly writer: RwLockWriter;

  readonly #permits: Permits;

  /**
   * Creates a lock without holders.
   *
   * @param options A name, and how many calls of both sides together may wait.
   * @throws {TypeError} when the name is not a string, or `maxWaiting` not a number.
   * @throws {RangeError} when `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(options?: MaxWaitingOptions) {
    const permits = this.#permits = new Permits(ALL, readQueueOptions(options), SidesQueue);
    const reader = new Side(permits);
    this.reader = reader;
    this.writer = new Side<WriterHold>(permits, reader);
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#permits.name;
  }

  /** Whether `cancel()` has closed the lock. */
  get closed(): boolean {
    return this.#permits.queue.closed;
  }

  /**
   * Closes both sides for good: all waiters reject with `reason`, in order and in one step; later calls reject with a
   * {@linkcode ClosedError}. Holders keep their holds and release them as usual. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeQueues([this.#permits.queue], reason);
  }
}
printAs(RwLock, "RwLock", ["name", "reader", "writer", "closed"]);

/** The queue of both sides. Counts the writers in it, which want more than one permit. */
class SidesQueue extends WaitQueue<Hold> {
  writers = 0;

  protected override link(waiter: Waiter<Hold>): void {
    super.link(waiter);
    if (waiter.permits > 1) this.writers++;
  }

  override unlink(waiter: Waiter<Hold>): void {
    if (waiter.permits > 1) this.writers--;
    super.unlink(waiter);
  }
}

/** One side. Its holds take one permit of a reader, and all of a writer. */
class Side<G extends Hold = Hold> implements RwLockSide<G>, PermitsOwner {
  readonly #permits: Permits;
  /** The reader side of a writer; undefined if this is the reader side itself. */
  readonly #readerSide: Side | undefined;

  static {
    exposeState(Side, (side) => ({ owner: side.#permits, copy: COPY }));
    printAs(Side, "RwLockSide", ["name", "locked", "waiting"]);
  }

  constructor(permits: Permits, reader?: Side) {
    this.#permits = permits;
    this.#readerSide = reader;
  }

  get kind(): string {
    return this.#readerSide === undefined ? "reader" : "writer";
  }

  get name(): string | undefined {
    return this.#permits.name;
  }

  /** The permits of one hold. */
  get unit(): number {
    return this.#readerSide === undefined ? 1 : ALL;
  }

  get action(): string {
    return `acquire ${this.kind} side`;
  }

  get sharedState(): object {
    return this.#permits;
  }

  get locked(): boolean {
    // A writer leaves no permit free; without holders all permits are free.
    const { value } = this.#permits;
    return this.#readerSide === undefined ? value > 0 && value < ALL : value === 0;
  }

  /** Read by acquireAll. */
  get closed(): boolean {
    return this.#permits.queue.closed;
  }

  get waiting(): number {
    const { size, writers } = this.#permits.queue as SidesQueue;
    return this.#readerSide === undefined ? size - writers : writers;
  }

  acquire(options?: WaitOptions): Promise<G> {
    try { // quicker than `promiseTry`, which takes a closure
      const limits = options === undefined ? undefined : admit(options, this.#permits.queue, this);
      return this.#permits.acquire(this, this.unit, limits) as Promise<G>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  tryAcquire(): G | undefined {
    return this.#permits.tryAcquire(this, this.unit) as G | undefined;
  }

  hold(): G {
    return (this.#readerSide === undefined ? new Hold(this) : new WriterHold(this)) as G;
  }

  run<T>(fn: (guard: G) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): Wrapped<T, A, R> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  onRelease(permits: number): void {
    this.#permits.onRelease(permits);
  }

  /** Turns the hold of `spent`, a writer's, into a reader's hold. */
  makeReader(spent: WriterHold): Guard {
    const reader = this.#readerSide!;
    const guard = reader.hold();
    setOwner(spent, undefined);
    this.#permits.value = ALL - 1;
    step(() => {
      hook?.release(this, spent);
      hook?.grant(reader, guard, 1);
      this.#permits.serve();
    });
    return guard;
  }
}

class WriterHold extends Hold implements WriterGuard {
  readonly #side: Side;

  constructor(side: Side) {
    super(side, ALL);
    this.#side = side;
  }

  downgrade(): Guard {
    if (this.held) return this.#side.makeReader(this);
    throw new NotHeldError(`Cannot ${withName("downgrade writer side", this.#side.name)}: it is not held`);
  }
}
setClassName(WriterHold, "Guard");
