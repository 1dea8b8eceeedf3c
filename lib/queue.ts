/**
 * Items between a queue of getters and a queue of putters.
 *
 * @module
 */
import {
  admit,
  checkCount,
  readName,
  readWaitOptions,
  throwIfAborted,
  type WaitLimits,
  withName,
} from "./internal/check.ts";
import { hook, step } from "./internal/hook.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import {
  closeQueues,
  grant,
  reject,
  reportGiveUp,
  reportGrant,
  Waiter,
  waitersOf,
  WaitQueue,
  wake,
} from "./internal/wait_queue.ts";
import { closedError, describe, UNOBSERVED, type WaitedFor } from "./internal/waited_for.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** Returned by every put that need not wait, to allocate no promise for each. */
const DONE = Promise.resolve();

/**
 * Hands items from producers to consumers, in order. With a capacity, producers wait while it is full.
 *
 * To limit concurrency, use {@linkcode Pool}. A queue does not broadcast: each item goes to one consumer. If an item is
 * a promise, `get` resolves to the promise's value; `tryGet` and iteration pass the promise on as it is.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam T The items.
 * @example
 * ```ts
 * import { Queue } from "@interlock/interlock";
 *
 * const lines = new Queue<string>(100); // holds at most 100 lines
 * const produce = async () => {
 *   for (const line of ["one", "two", "three"]) await lines.put(line);
 *   lines.close();
 * };
 * produce();
 * for await (const line of lines) {
 *   console.log(line); // one, then two, then three
 * }
 * console.log(lines.size, lines.closed); // 0 true
 * ```
 */
export class Queue<T> implements AsyncIterable<T> {
  // #getters.size > 0 implies #items.size === 0; #putters.size > 0 implies #items.size === #capacity. #putters.closed
  // means that the queue is closed, and implies that nothing waits, except during `close` itself. #getters.closed means
  // that it was cancelled, and implies that it is empty. #joiners.size > 0 implies #unfinished > 0.
  #items = new Items<T>();
  readonly #capacity: number;
  // Of any type, so that a Queue<Dog> is a Queue<Animal>, as with arrays.
  readonly #getters = new WaitQueue<unknown>();
  readonly #putters = new WaitQueue<unknown, Putter>();
  readonly #getTarget: WaitedFor;
  readonly #putTarget: WaitedFor;
  readonly #joinTarget: WaitedFor;
  readonly #joiners = new WaitQueue<void>();
  /** The number of items that were put in and not yet marked by `taskDone`. */
  #unfinished = 0;

  static {
    exposeState(Queue, (queue) => [queue.#items, queue.#unfinished, queue.#joiners]);
    printAs(Queue, "Queue", ["name", "size", "capacity", "getting", "putting", "closed"]);
  }

  /**
   * Creates an empty queue of at most `capacity` items.
   *
   * @param capacity The maximum number of items in the queue. Default: Infinity.
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when `capacity` is not a number, or the name is not a string.
   * @throws {RangeError} when `capacity` is neither a whole number of 1 or more nor `Infinity`.
   */
  constructor(capacity: number = Infinity, options?: NameOptions) {
    checkCount(capacity, "capacity", 1);
    const name = readName(options);
    this.#capacity = capacity;
    this.#getTarget = { ...describe("queue", "get from queue", name), sharedState: this };
    this.#putTarget = { ...describe("queue", "put into queue", name), sharedState: this };
    this.#joinTarget = describe(UNOBSERVED, "join queue", name);
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#getTarget.name;
  }

  /** The number of items in the queue. */
  get size(): number {
    return this.#items.size;
  }

  /** The maximum number of items in the queue. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The number of calls that wait for an item. */
  get getting(): number {
    return this.#getters.size;
  }

  /** The number of calls that wait to put an item in. */
  get putting(): number {
    return this.#putters.size;
  }

  /** Whether the queue rejects new items. */
  get closed(): boolean {
    return this.#putters.closed;
  }

  /**
   * Puts an item in, or waits until there is room. If a `get` waits, the item is handed to it directly.
   *
   * **Fairness**: the queue accepts items in the order of the calls, and returns them in that order.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), and its item is not put in. An abort after the
   * item was put in has no effect.
   *
   * @param item The item; any value.
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {ClosedError} when the queue is closed, before the call or by `close()` during it. A call that already
   *   waits rejects with the reason of `cancel()`.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  put(item: T, options?: WaitOptions): Promise<void> {
    try { // quicker than `promiseTry`, which takes a closure
      const limits = options === undefined ? undefined : admit(options, this.#putters, this.#putTarget);
      if (this.tryPut(item)) return DONE;
      return this.#putters.wait(new Putter(this.#putTarget, item), limits) as Promise<void>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Puts an item in if there is room, without overtaking a `put` that waits.
   *
   * @param item The item to add.
   * @returns Whether the item was put in.
   * @throws {ClosedError} when the queue is closed.
   */
  tryPut(item: T): boolean {
    // First, because skipping cancelled getters notifies observers, which may use the queue.
    const getter = this.closed ? undefined : this.#getters.take();
    if (getter === undefined) {
      this.#putters.checkOpen(this.#putTarget);
      if (this.#putters.size > 0 || this.#items.size >= this.#capacity) return false;
    }
    this.#accept(item, getter);
    if (hook !== undefined) reportGrant(new Putter(this.#putTarget, item));
    return true;
  }

  /**
   * Takes the first item out, or waits for one. If a `put` waits, its item goes in at the same moment.
   *
   * **Fairness**: strictly first come, first served.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), and takes no item. An abort after the grant has
   * no effect: the item is the caller's.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {ClosedError} when the queue is closed and empty, before the call or by `close()` during it. A call that
   *   already waits rejects with the reason of `cancel()`.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  get(options?: WaitOptions): Promise<T> {
    try {
      const limits = admit(options, this.#items.size > 0 ? undefined : this.#putters, this.#getTarget);
      if (this.#items.size > 0) return Promise.resolve(this.#take());
      return this.#getters.wait(new Waiter<unknown>(this.#getTarget), limits) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Takes the first item out if there is one.
   *
   * @returns The item as `value`, since it may be `undefined` itself.
   * @throws {ClosedError} when the queue is closed and empty.
   */
  tryGet(): { value: T } | undefined {
    if (this.#items.size > 0) return { value: this.#take() };
    this.#putters.checkOpen(this.#getTarget);
    return undefined;
  }

  /**
   * Closes the queue to new items: waiting and later puts reject with a {@linkcode ClosedError}. The items in the queue
   * can still be taken. Once it is empty, gets reject with a ClosedError too, and iteration ends.
   */
  close(): void {
    if (this.closed) return;
    this.#putters.closedWith = { reason: undefined }; // unused: each putter gets an error of its own
    step(() => {
      for (const putter of this.#putters.takeAll()) reject(putter, closedError(this.#putTarget));
      for (const getter of this.#getters.takeAll()) {
        if (getter instanceof LoopGetter) getter.end();
        else reject(getter, closedError(this.#getTarget));
      }
    });
  }

  /**
   * Closes the queue and drops the items in it. Waiting calls and iterations reject with `reason`, later calls with a
   * {@linkcode ClosedError}. Cancelling again has no effect.
   *
   * @param reason The reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    const dropped = this.#items.size;
    this.#items = new Items();
    closeQueues([this.#putters, this.#getters], reason);
    this.#countDone(Math.min(dropped, this.#unfinished));
  }

  /**
   * Marks one item as processed. Consumers call it once for each item that they got, so that {@linkcode Queue.join} can
   * wait for them. Python's `task_done`.
   *
   * @throws {RangeError} when every item is done already.
   */
  taskDone(): void {
    if (this.#unfinished === 0) {
      throw new RangeError(`Cannot ${withName("finish item of queue", this.name)}: each item is done already`);
    }
    this.#countDone(1);
  }

  /**
   * Waits until {@linkcode Queue.taskDone} was called for each item that was put in; resolves at once if there was
   * none. Items that {@linkcode Queue.cancel} drops count as done. After `close` or `cancel`, it still waits until the
   * items that consumers have taken are marked as processed.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1).
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
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
    if (this.#unfinished > 0) await this.#joiners.wait(new Waiter(this.#joinTarget), limits);
  }

  /**
   * Gets item after item until the queue is closed and empty. Several iterations share the items. After you leave a
   * `for await` loop, it takes no more items; the queue stays open.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return this.values();
  }

  /**
   * Iterates as `for await (const item of queue)` does, with limits for each wait of the loop. In a {@linkcode
   * TaskGroup}, pass `{ signal: group.signal }`: the loop ends when another task fails, as in asyncio.
   *
   * **Fairness**: as in {@linkcode Queue.get}.
   *
   * **Cancellation**: on abort or time-out the loop throws `signal.reason` or a {@linkcode TimeoutError}, and takes no
   * item. With an aborted signal it throws even while items are there. `timeout` does not bound the body of the loop.
   *
   * @param options When to stop waiting for an item; `timeout` in milliseconds.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   *
   * @example
   * ```ts
   * import { Queue, TaskGroup } from "@interlock/interlock";
   *
   * const lines = new Queue<string>(10);
   * const copying = TaskGroup.scope(async (group) => {
   *   group.run(async (signal) => {
   *     await lines.put("one", { signal });
   *     throw new Error("the file is gone");
   *   });
   *   for await (const line of lines.values({ signal: group.signal })) {
   *     console.log(line); // one
   *   }
   * });
   * await copying.catch(({ message }) => {
   *   console.log(message); // the file is gone
   * });
   * ```
   */
  values(options?: WaitOptions): AsyncIterableIterator<T, undefined> {
    const limits = readWaitOptions(options);
    let hasReturned = false;
    const loop: AsyncIterableIterator<T, undefined> = {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: (): Promise<IteratorResult<T, undefined>> => {
        if (hasReturned) return Promise.resolve(doneResult());
        try {
          return this.#next(loop, limits);
        } catch (error) {
          return Promise.reject(error);
        }
      },
      return: (): Promise<IteratorResult<T, undefined>> => {
        hasReturned = true;
        // No item may go to a call of `next` whose result is no longer awaited.
        for (const getter of waitersOf(this.#getters)) {
          if (!(getter instanceof LoopGetter) || getter.loop !== loop || !getter.queued) continue;
          this.#getters.unlink(getter);
          getter.end();
        }
        return Promise.resolve(doneResult());
      },
    };
    return loop;
  }

  #next(loop: object, limits: WaitLimits | undefined): Promise<IteratorResult<T, undefined>> {
    const { closedWith } = this.#getters;
    if (closedWith !== undefined) throw closedWith.reason; // it was cancelled
    throwIfAborted(limits);
    if (this.size > 0) return Promise.resolve({ value: this.#take(), done: false });
    if (this.closed) return Promise.resolve(doneResult());
    const getter = new LoopGetter(this.#getTarget, loop);
    return this.#getters.wait(getter, limits) as Promise<IteratorResult<T, undefined>>;
  }

  #countDone(count: number): void {
    this.#unfinished -= count;
    if (this.#unfinished === 0) wake(this.#joiners, undefined);
  }

  /** Takes out the first item of a queue that is not empty. The first putter gets the room. */
  #take(): T {
    const item = this.#items.shift();
    const putter = this.#putters.take();
    if (putter !== undefined) {
      this.#accept(putter.item as T, this.#getters.take());
      grant(putter, undefined);
    }
    if (hook !== undefined) reportGrant(new Waiter<unknown>(this.#getTarget));
    return item;
  }

  /** Passes an accepted item to the getter, or stores it. */
  #accept(item: T, getter: Waiter<unknown> | undefined): void {
    this.#unfinished++;
    if (getter === undefined) this.#items.push(item);
    else grant(getter, getter instanceof LoopGetter ? { value: item, done: false } : item);
  }
}

/** The slots of removed items that are kept in any case. */
const SPARE = 16;

/** Items, first in, first out, in an array. Used by the benchmarks, too. */
export class Items<T> {
  // The items are in the slots from #first on. #first <= size, or #first <= SPARE.
  slots: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.slots.length - this.#first;
  }

  push(item: T): void {
    this.slots.push(item);
  }

  /** Removes the first item; only if there is one. */
  shift(): T {
    const item = this.slots[this.#first] as T;
    this.slots[this.#first++] = undefined;
    if (this.#first > SPARE && this.#first > this.size) { // `Array.shift` for each would cost O(n)
      this.slots = this.slots.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}

/** A call of `next` that waits for an item. It resolves to the result of an iterator. */
class LoopGetter extends Waiter<unknown> {
  readonly loop: object;

  constructor(target: WaitedFor, loop: object) {
    super(target);
    this.loop = loop;
  }

  /** Ends the loop of a dequeued call. */
  end(): void {
    this.resolve(doneResult());
    reportGiveUp(this, "error");
  }
}

/** A call that waits for room for its item. */
class Putter extends Waiter<unknown> {
  readonly item: unknown;

  constructor(target: WaitedFor, item: unknown) {
    super(target);
    this.item = item;
  }
}

function doneResult(): IteratorReturnResult<undefined> {
  return { value: undefined, done: true };
}
