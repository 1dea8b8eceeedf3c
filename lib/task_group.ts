/**
 * Tasks that end together: a number of places, a signal, and the failures.
 *
 * @module
 */
import { callIn } from "./internal/call_in.ts";
import { type CancelWatch, onCancel, reasonOf } from "./internal/cancellation.ts";
import {
  admit,
  checkCount,
  checkFunction,
  checkSignal,
  promiseTry,
  readName,
  throwIfAborted,
  withName,
} from "./internal/check.ts";
import type { Hold } from "./internal/hold.ts";
import { isCancellation } from "./internal/is_cancellation.ts";
import { Permits } from "./internal/permits.ts";
import { sharedController } from "./internal/platform.ts";
import { setDisposal } from "./internal/dispose.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { rejectAll, Waiter, WaitQueue, wake } from "./internal/wait_queue.ts";
import { cannot, describe, UNOBSERVED, type WaitedFor } from "./internal/waited_for.ts";
import { UnobservedFailures } from "./internal/unobserved.ts";
import { wrapFunction } from "./internal/wrap.ts";
import { ClosedError } from "./errors.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode TaskGroup}. */
export interface TaskGroupOptions extends NameOptions {
  /** The maximum number of tasks that run at a time; further tasks wait in a queue. Default: Infinity. */
  readonly limit?: number | undefined;
  /**
   * Aborts the group with its reason, which {@linkcode TaskGroup.join} then throws. The group listens to it only while
   * it has tasks or a {@linkcode TaskGroup.scope}; otherwise it notices the abort at its next call.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs tasks that succeed together or stop together: at the first failure, the group aborts the other tasks, waits
 * until they have ended, and throws the failure. Python's `asyncio.TaskGroup`. Prefer {@linkcode TaskGroup.scope}. With
 * `await using`, too, no task outlives the block. But if the block throws, the tasks are not aborted: the block waits
 * for them.
 *
 * For independent jobs, which should continue after a failure, use {@linkcode Pool}. Waiting inside a task for `join`
 * of its own group deadlocks; with a `limit`, so can waiting for another task of the group.
 *
 * Tasks are never called synchronously, and each runs in the asynchronous context (`AsyncLocalStorage`) of its call of
 * `run`. If `join` has not thrown a failure after 10 s, or when the process runs out of work, a process warning reports
 * it (code `INTERLOCK_UNOBSERVED`, once for each group).
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { TaskGroup } from "@interlock/interlock";
 *
 * const load = async (path: string, signal: AbortSignal) => {
 *   await Promise.resolve();
 *   signal.throwIfAborted(); // as fetch(path, { signal }) does
 *   return path.length;
 * };
 * const length = await TaskGroup.scope(async (group) => {
 *   const page = group.run((signal) => load("/page", signal));
 *   const image = group.run((signal) => load("/image", signal));
 *   return await page + await image;
 * });
 * console.log(length); // 11
 * ```
 */
export class TaskGroup implements AsyncDisposable {
  // #tasks counts waiting, starting and running tasks, and blocks of `scope`; starting and running tasks hold a permit.
  // #failures is empty unless the signal has aborted. #outerWatch is set and #joiners wait only while #tasks > 0.
  // #unobserved has a failure only while `join` has not thrown it.
  readonly #places: Places;
  readonly #joinTarget: WaitedFor;
  readonly #joiners = new WaitQueue<void>();
  #tasks = 0;
  /** Whether it ends once no task is left: inside `scope`, and after dispose. Both join it. */
  #closing = false;
  /** Whether a call of `join` has thrown the failures. No more can follow, because the signal has aborted. */
  #isThrown = false;
  /** The errors to throw, in the order in which they happened. */
  #failures = new Set<unknown>();
  #unobserved: UnobservedFailures | undefined;
  /** Created on first use: some platforms forbid it while a module is loaded. */
  #controller: AbortController | undefined;
  /** The signal of the options, and the link to it. */
  readonly #outerSignal: AbortSignal | undefined;
  #outerWatch: CancelWatch | undefined;

  static {
    exposeState(TaskGroup, (group) => [group.#tasks, group.#places, group.#failures, group.#outerWatch]);
    setDisposal(TaskGroup);
    printAs(TaskGroup, "TaskGroup", ["name", "active", "waiting"]);
  }

  /**
   * Calls `fn` with a new group, resolves to its result once all tasks have ended, and ends the group. Python's `async
   * with`. `fn` is not called synchronously.
   *
   * If `fn` throws, the group is cancelled with that error, and the error is thrown when all tasks have ended. If a
   * task fails, {@linkcode TaskGroup.signal} aborts, and its failure is thrown when `fn` and all tasks have ended.
   * Several errors come in an AggregateError, beginning with the error of `fn`; the cancellation itself is not
   * repeated.
   *
   * **Fairness**: as in {@linkcode TaskGroup.run}.
   *
   * **Cancellation**: by the `signal` option: the group is aborted with its reason, which is thrown when everything has
   * ended. If it has aborted before, `fn` is not called. `fn` should pass the group's signal to each call that it
   * awaits.
   *
   * @param fn The function that runs tasks in the group; it may be synchronous.
   * @param options How many tasks run at a time, a signal that aborts all of them, and a name.
   * @throws The error of `fn` or of a task, when there is only one.
   * @throws {AggregateError} when there are several errors.
   * @throws {signal.reason} when the option `signal` aborts.
   * @throws {TypeError} when `fn` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `limit` is neither a whole number of 1 or more nor `Infinity`.
   *
   * @example
   * ```ts
   * import { TaskGroup } from "@interlock/interlock";
   *
   * const [name, age] = await TaskGroup.scope((group) =>
   *   Promise.all([
   *     group.run(() => "Ada"),
   *     group.run((signal) => signal.aborted ? 0 : 36),
   *   ])
   * );
   * console.log(name, age); // Ada 36
   * ```
   */
  static async scope<T>(fn: (group: TaskGroup) => T | PromiseLike<T>, options?: TaskGroupOptions): Promise<T> {
    checkFunction(fn);
    const group = new TaskGroup(options);
    group.#begin();
    group.#closing = true;
    try {
      throwIfAborted(group);
      await undefined;
      return await fn(group);
    } catch (error) {
      group.#fail(error, true);
      throw error;
    } finally {
      group.#end();
      await group.join(); // throws the failures in place of the error, unless that is the cancellation itself
    }
  }

  /**
   * Creates a group without tasks.
   *
   * @param options How many tasks run at a time, a signal that aborts all of them, and a name.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `limit` is neither a whole number of 1 or more nor `Infinity`.
   */
  constructor(options?: TaskGroupOptions) {
    const { limit = Infinity, signal } = options ?? {};
    checkCount(limit, "limit", 1);
    if (signal !== undefined) checkSignal(signal);
    const name = readName(options);
    const most = Math.min(limit, Number.MAX_SAFE_INTEGER);
    this.#places = new Places(most, { name, maxWaiting: Infinity });
    this.#places.most = most;
    this.#joinTarget = describe(UNOBSERVED, "join task group", name);
    this.#outerSignal = signal;
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#places.name;
  }

  /** The signal that all tasks get. It aborts with the first failure, or with the reason of a cancellation. */
  get signal(): AbortSignal {
    this.#followOuter();
    return (this.#controller ??= sharedController()).signal;
  }

  /** The number of tasks that run or are about to start. */
  get active(): number {
    return this.#places.most - this.#places.value;
  }

  /** The number of tasks in the queue. */
  get waiting(): number {
    return this.#places.queue.size;
  }

  /**
   * Starts `fn` and resolves to its result. A failure aborts the group, and {@linkcode TaskGroup.join} throws it even
   * if the caller handles the returned promise. So the promise may be left unhandled.
   *
   * A task may start further tasks, even while the group is being disposed of.
   *
   * **Fairness**: with a `limit`, tasks start strictly first come, first served.
   *
   * **Cancellation**: by the group's signal. A task that has not started when it aborts rejects with its reason, and
   * `fn` is not called.
   *
   * @param fn The function to run; it gets the group's signal, and may be synchronous.
   * @throws The error of `fn`, or the reason of {@linkcode TaskGroup.signal} when it aborts before `fn` has started.
   * @throws {ClosedError} when the group has ended.
   * @throws {TypeError} when `fn` is not a function.
   *
   * @example
   * ```ts
   * import { TaskGroup } from "@interlock/interlock";
   *
   * await using group = new TaskGroup({ limit: 2 });
   * const lengths = ["/a", "/bb", "/ccc"].map((path) =>
   *   group.run(() => path.length)
   * );
   * console.log(group.active, group.waiting); // 2 1
   * await group.join(); // throws if a task has failed
   * console.log(await Promise.all(lengths)); // [ 2, 3, 4 ]
   * ```
   */
  run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    return promiseTry(() => {
      checkFunction(fn);
      if (this.#hasEnded()) throw new ClosedError(`${cannot(this.#places)}: task group has ended`);
      const result = this.#execute(fn);
      result.catch(() => {}); // `join` throws it
      return result;
    });
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode TaskGroup.run}. `fn` gets
   * only the arguments of the call, so it may use {@linkcode TaskGroup.signal}.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Aborts {@linkcode TaskGroup.signal}: running tasks are asked to end, and queued tasks reject with `reason`. A
   * cancellation does not count as a failure: {@linkcode TaskGroup.join} resolves when all tasks have ended, unless one
   * throws another error. It has no effect once the group has aborted or ended.
   *
   * @param reason The reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    const { signal } = this;
    if (this.#hasEnded() || signal.aborted) return; // the first reason stays
    this.#controller!.abort(reason);
    const cause = reasonOf(signal);
    rejectAll(this.#places.queue.takeAll(), cause);
  }

  /**
   * Waits until no task is left, and throws the failures: a single failure as it is, several in an AggregateError in
   * the order in which they happened. It does not end the group, and another call throws the same failures. Awaiting it
   * inside a task of the group deadlocks.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), nothing is stopped, and no failure is lost.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws The failure, when a single task has failed; or the reason of the option `signal` when it has aborted the
   *   group.
   * @throws {AggregateError} when several tasks have failed.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  async join(options?: WaitOptions): Promise<void> {
    const limits = admit(options);
    this.#followOuter();
    if (this.#tasks > 0) await this.#joiners.wait(new Waiter(this.#joinTarget), limits);
    const failures = [...this.#failures];
    if (failures.length === 0) return;
    this.#isThrown = true;
    this.#unobserved?.observe(this);
    if (failures.length === 1) throw failures[0];
    throw new AggregateError(failures, `${cannot(this.#joinTarget)}: ${failures.length} failures`);
  }

  /**
   * Ends the group once no task is left, then acts as {@linkcode TaskGroup.join}, for `await using`. Failures that an
   * earlier `join` has thrown are not thrown again: the block has either handled them or ends with them.
   */
  [Symbol.asyncDispose](): Promise<void> {
    const wasThrown = this.#isThrown; // before this call
    const joined = this.join(); // before the group may end: an ended group ignores the options' signal
    this.#closing = true;
    return wasThrown ? joined.catch(() => {}) : joined;
  }

  /** Waits for a place, and calls `fn` there. */
  async #execute<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    let place: Hold | undefined;
    this.#begin();
    try {
      throwIfAborted(this);
      place = await this.#places.acquire(this.#places, 1); // cancel() rejects the calls that wait
      throwIfAborted(this);
      return await callIn(place, fn, this.signal);
    } catch (error) {
      this.#fail(error); // before its place is free: the next task would start there
      throw error;
    } finally {
      place?.release();
      this.#end();
    }
  }

  /** Counts a task, or the block of `scope`. */
  #begin(): void {
    this.#followOuter();
    const signal = this.#outerSignal;
    if (signal?.aborted === false) this.#outerWatch ??= onCancel({ signal }, () => this.#followOuter());
    this.#tasks++;
  }

  #end(): void {
    if (--this.#tasks > 0) return;
    this.#outerWatch?.end();
    this.#outerWatch = undefined;
    wake(this.#joiners, undefined);
  }

  /**
   * Aborts the group with the reason of the options' signal; `join` throws the reason unless it has failures to throw.
   * Every call checks the signal, because the group listens to it only while there are tasks.
   */
  #followOuter(): void {
    if (this.#hasEnded() || this.#outerSignal?.aborted !== true || this.#failures.size > 0) return;
    const reason = reasonOf(this.#outerSignal);
    this.#failures.add(reason);
    this.cancel(reason);
  }

  /**
   * Aborts the group at its first failure. Errors caused by its signal do not count.
   *
   * @param isOfBlock Whether the block of `scope` has thrown it: that error comes before the failures of tasks.
   */
  #fail(error: unknown, isOfBlock = false): void {
    // Each error counts once, even if a task rethrows the error of another task.
    if (isCancellation(error, this.signal) || this.#failures.has(error)) return;
    if (isOfBlock) this.#failures = new Set([error, ...this.#failures]);
    else this.#failures.add(error);
    if (!isOfBlock && this.#unobserved === undefined) {
      const isJoined = () => this.#closing || this.#joiners.size > 0;
      this.#unobserved = new UnobservedFailures(
        withName("task group", this.name),
        isJoined,
        "use TaskGroup.scope(), or await the group's join()",
        false,
      );
      this.#unobserved.add(this, error, !this.#closing);
    }
    this.cancel(error);
  }

  /** Whether it is closed and no task is left, so that none can follow. */
  #hasEnded(): boolean {
    return this.#closing && this.#tasks === 0;
  }
}

/** The places of one group. */
class Places extends Permits {
  readonly isStart = true;

  override get kind(): string {
    return "task-group";
  }

  get action(): string {
    return "run in task group";
  }
}
