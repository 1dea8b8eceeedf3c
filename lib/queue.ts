/**
 * A ring of items between a queue of getters and a queue of putters.
 *
 * @module
 */
import {
  admit,
  checkCount,
  named,
  readName,
  readWaitOptions,
  throwIfAborted,
  type WaitLimits,
} from "./internal/check.ts";
import { hook, step } from "./internal/hook.ts";
import { Ring } from "./internal/ring.ts";
import { show } from "./internal/show.ts";
import {
  cancelQueues,
  describe,
  giveUp,
  grant,
  reject,
  remove,
  reportGrant,
  type WaitedFor,
  Waiter,
  WaitQueue,
  wakeFirst,
} from "./internal/wait_queue.ts";
import { ClosedError } from "./errors.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** Of every put that need not wait: a promise for each of them would be garbage at once. */
const DONE = Promise.resolve();

/** The private state, for {@linkcode assertSoundQueue}, which bundlers drop because it is no method. */
let stateOf: (
  queue: Queue<unknown>,
) => readonly [items: Ring<unknown>, isCancelled: boolean, unfinished: number, joiners: number];

/**
 * Hands items from producers to consumers, in order. With a capacity, producers wait while it is full.
 *
 * Not for limiting how many functions run at a time (that is {@linkcode Pool}), nor for passing every item to every
 * consumer: each item is got once. `get` resolves to what an item that is a promise resolves to, as any promise does;
 * `tryGet` and iteration pass it on as it is.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam T The items.
 * @example
 * ```ts
 * import { Queue } from "@interlock/interlock";
 *
 * const lines = new Queue<string>(100); // at most 100 lines that no consumer has read yet
 * const produce = async () => {
 *   for (const line of ["one", "two", "three"]) await lines.put(line);
 *   lines.close();
 * };
 * produce();
 * for await (const line of lines) console.log(line); // one, then two, then three
 * console.log(lines.size, lines.closed); // 0 true
 * ```
 */
export class Queue<T> implements AsyncIterable<T> {
  // #getters.size > 0 implies #items.size === 0; #putters.size > 0 implies #items.size === #capacity.
  // #closed implies that nothing waits, apart from the moment in which it is closed. #getters.closed, which says that it
  // was cancelled, implies #closed and #items.size === 0. #joiners.size > 0 implies #unfinished > 0.
  readonly #items = new Ring<T>();
  readonly #capacity: number;
  // Of any type, so that a Queue<Dog> is a Queue<Animal>, as with arrays.
  readonly #getters = new WaitQueue<unknown>();
  readonly #putters = new WaitQueue<unknown, Putter>();
  readonly #getting: WaitedFor;
  /** For waits of iterations, which get results of an iterator. */
  readonly #iterating: WaitedFor;
  readonly #putting: WaitedFor;
  readonly #joining: WaitedFor;
  readonly #joiners = new WaitQueue<void>();
  /** How many items were put in for which `taskDone` was not called. */
  #unfinished = 0;
  #closed = false;

  static {
    stateOf = (queue) => [queue.#items, queue.#getters.closed, queue.#unfinished, queue.#joiners.size];
    show(Queue, "Queue", ["name", "size", "capacity", "getting", "putting", "closed"]);
  }

  /**
   * An empty queue, from producers to consumers, of at most `capacity` items.
   *
   * @param capacity The most items in it. Default: Infinity.
   * @param options Its name.
   * @throws {TypeError} when `capacity` is not a number, or the name is not a string.
   * @throws {RangeError} when `capacity` is neither a whole number of 1 or more nor `Infinity`.
   */
  constructor(capacity: number = Infinity, options?: NameOptions) {
    checkCount(capacity, "capacity", 1);
    const name = readName(options);
    this.#capacity = capacity;
    this.#getting = { ...describe("queue", "get from queue", name), group: this };
    this.#iterating = { ...this.#getting };
    this.#putting = { ...describe("queue", "put into queue", name), group: this };
    this.#joining = describe(undefined, "join queue", name);
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#getting.name;
  }

  /** The number of items in it. */
  get size(): number {
    return this.#items.size;
  }

  /** The most items in it. */
  get capacity(): number {
    return this.#capacity;
  }

  /** How many calls wait for an item. */
  get getting(): number {
    return this.#getters.size;
  }

  /** How many calls wait to put an item in. */
  get putting(): number {
    return this.#putters.size;
  }

  /** Whether it takes no more items. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Puts an item in, or waits until there is room. If a `get` waits, the item is handed to it directly.
   *
   * **Fairness**: items go in in the order of the calls, and come out in that order.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), and its item never gets in. An abort after the item
   * is in changes nothing.
   *
   * @param item The item; any value.
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {ClosedError} (as a rejection, like all of these) when the queue is closed, before the call or during it.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  put(item: T, options?: WaitOptions): Promise<void> {
    try { // quicker than a function for `promised`
      const limits = options === undefined ? undefined : this.#admit(this.#putting, options);
      if (this.#offer(item)) return DONE;
      return this.#putters.wait(new Putter(this.#putting, item), limits) as Promise<void>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Puts an item in if there is room, without overtaking a `put` that waits.
   *
   * @returns Whether it is in.
   * @throws {ClosedError} when the queue is closed.
   */
  tryPut(item: T): boolean {
    return this.#offer(item);
  }

  /**
   * Takes the first item out, or waits for one. If a `put` waits, its item goes in at the same moment.
   *
   * **Fairness**: strictly first come, first served.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), and takes no item. An abort after the grant changes
   * nothing: the item is the caller's.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {ClosedError} (as a rejection, like all of these) when the queue is closed and empty.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  get(options?: WaitOptions): Promise<T> {
    try {
      const limits = options === undefined ? undefined : this.#admit(this.#getting, options);
      if (this.#items.size > 0) return Promise.resolve(this.#take());
      this.#refuse(this.#getting);
      return this.#getters.wait(new Waiter<unknown>(this.#getting), limits) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * The first item, if there is one.
   *
   * @returns The item as `value`, since it may be `undefined` itself.
   * @throws {ClosedError} when the queue is closed and empty.
   */
  tryGet(): { value: T } | undefined {
    this.#refuse(this.#getting);
    return this.#items.size > 0 ? { value: this.#take() } : undefined;
  }

  /**
   * Takes no more items: later puts and those that wait reject with a {@linkcode ClosedError}. The items that are in it
   * can still be got. When there are none, gets reject with a ClosedError as well, and iteration ends.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    step(() => {
      for (const putter of this.#putters.takeAll()) reject(putter, closedError(this.#putting));
      for (const getter of this.#getters.takeAll()) {
        if (this.#isLoop(getter)) giveUp(getter, done());
        else reject(getter, closedError(this.#getting));
      }
    });
  }

  /**
   * Closes the queue and drops the items in it. All calls that wait and all iterations reject with `reason`, later calls
   * with a {@linkcode ClosedError}. The first reason stays.
   *
   * @param reason The reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#closed = true;
    const dropped = this.#items.size;
    this.#items.clear();
    cancelQueues([this.#putters, this.#getters], reason);
    this.#finish(Math.min(dropped, this.#unfinished));
  }

  /**
   * States that an item that was got is done with: a consumer that {@linkcode Queue.join} should wait for calls it once for
   * each item, as for Python's `task_done`.
   *
   * @throws {RangeError} when it was called for each item already.
   */
  taskDone(): void {
    if (this.#unfinished === 0) {
      throw new RangeError(`Cannot finish item of ${named("queue", this.name)}: taskDone() was called for each item`);
    }
    this.#finish(1);
  }

  /**
   * Waits until {@linkcode Queue.taskDone} was called once for each item that was put in; at once if there is none. Items
   * that {@linkcode Queue.cancel} drops count as done. It goes on after `close` and `cancel`, for the items that were got.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1).
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} (as a rejection, like all of these) when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   *
   * @example
   * ```ts
   * import { Queue } from "@interlock/interlock";
   *
   * const jobs = new Queue<string>();
   * const work = async () => {
   *   for await (const job of jobs) {
   *     console.log(job); // one, then two
   *     jobs.taskDone();
   *   }
   * };
   * work();
   * for (const job of ["one", "two"]) await jobs.put(job);
   * await jobs.join(); // both are done
   * jobs.close();
   * ```
   */
  async join(options?: WaitOptions): Promise<void> {
    const limits = admit(options);
    if (this.#unfinished > 0) await this.#joiners.wait(new Waiter(this.#joining), limits);
  }

  /**
   * Gets item after item until the queue is closed and empty. Several iterations share the items. Leaving a `for await`
   * loop takes no further item, and does not close the queue.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    let isLeft = false;
    const waits = new Set<Waiter<unknown>>();
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: (): Promise<IteratorResult<T, undefined>> => {
        const { end } = this.#getters;
        if (end !== undefined && !isLeft) return Promise.reject(end.reason);
        if (isLeft || this.#isOver()) return Promise.resolve(done());
        if (this.#items.size > 0) return Promise.resolve({ value: this.#take(), done: false });
        for (const getter of waits) { // the first calls are served first
          if (getter.waits) break;
          waits.delete(getter);
        }
        const getter = new Waiter<unknown>(this.#iterating);
        waits.add(getter);
        return this.#getters.wait(getter) as Promise<IteratorResult<T, undefined>>;
      },
      return: (): Promise<IteratorResult<T, undefined>> => {
        isLeft = true;
        // No item may go to a call of `next` whose result is awaited no more.
        for (const getter of waits) this.#leave(getter);
        return Promise.resolve(done());
      },
    };
  }

  #finish(count: number): void {
    this.#unfinished -= count;
    if (this.#unfinished === 0) wakeFirst(this.#joiners, Infinity, undefined);
  }

  #isLoop(getter: Waiter<unknown>): boolean {
    return getter.target === this.#iterating;
  }

  /** Ends a wait of an iteration that was left. */
  #leave(getter: Waiter<unknown>): void {
    if (remove(this.#getters, getter)) getter.resolve(done());
  }

  /** Reads the options of a call, then refuses it if the queue is over for it, then if its signal has aborted. */
  #admit(operation: WaitedFor, options: WaitOptions | undefined): WaitLimits | undefined {
    const limits = readWaitOptions(options);
    this.#refuse(operation);
    throwIfAborted(limits); // asking a foreign signal runs its code: the calls look again whether it is over
    return limits;
  }

  #refuse(operation: WaitedFor): void {
    if (operation === this.#getting ? this.#isOver() : this.#closed) throw closedError(operation);
  }

  /** Whether there is nothing left to get. */
  #isOver(): boolean {
    return this.#closed && this.#items.size === 0;
  }

  /** Puts an item in, unless there is no room for a newcomer. */
  #offer(item: T): boolean {
    // First: cancelled getters are passed over, and observers that hear of it may use the queue.
    const getter = this.#closed ? undefined : this.#getters.take();
    if (getter === undefined) {
      if (this.#closed) throw closedError(this.#putting);
      if (this.#putters.size > 0 || this.#items.size >= this.#capacity) return false;
    }
    this.#accept(item, getter);
    if (hook !== undefined) reportGrant(new Putter(this.#putting, item));
    return true;
  }

  /** Takes out the first item, of which there is one; the place goes to the first putter. */
  #take(): T {
    const item = this.#items.shift();
    const putter = this.#putters.take();
    if (putter !== undefined) {
      this.#accept(putter.item as T, this.#getters.take());
      grant(putter, undefined);
    }
    if (hook !== undefined) reportGrant(new Waiter<unknown>(this.#getting));
    return item;
  }

  /** An item is in: it goes to a getter, or waits for one. */
  #accept(item: T, getter: Waiter<unknown> | undefined): void {
    this.#unfinished++;
    if (getter === undefined) this.#items.push(item);
    else grant(getter, this.#isLoop(getter) ? { value: item, done: false } : item);
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundQueue(queue: Queue<unknown>): void {
  const { size, capacity, getting, putting, closed } = queue;
  const [items, isCancelled, unfinished, joiners] = stateOf(queue);
  const isSound = size <= capacity && (getting === 0 || size === 0) && (putting === 0 || size === capacity) &&
    (!closed || getting + putting === 0) && (!isCancelled || closed && size === 0) && (joiners === 0 || unfinished > 0);
  if (!isSound) throw new Error(`unsound queue: ${size} items, ${getting} getters, ${putting} putters`);
  if (!items.isLean) throw new Error(`unsound queue: it keeps more than its ${size} items`);
}

/** A call that waits for room for its item. */
class Putter extends Waiter<unknown> {
  readonly item: unknown;

  constructor(waitsFor: WaitedFor, item: unknown) {
    super(waitsFor);
    this.item = item;
  }
}

function done(): IteratorReturnResult<undefined> {
  return { value: undefined, done: true };
}

function closedError({ operation }: WaitedFor): ClosedError {
  return new ClosedError(`Cannot ${operation}: queue is closed`);
}
