/**
 * Tasks that end together: a number of places, a signal, and the failures.
 *
 * @module
 */
import { callIn } from "./internal/call_in.ts";
import { type Cancellation, onCancel, reasonOf } from "./internal/cancellation.ts";
import {
  admit,
  checkCount,
  checkFunction,
  checkOptions,
  checkSignal,
  named,
  option,
  promised,
  readName,
  throwIfAborted,
} from "./internal/check.ts";
import type { Hold } from "./internal/hold.ts";
import { isCancellation } from "./internal/is_cancellation.ts";
import { Permits } from "./internal/permits.ts";
import { sharedController } from "./internal/platform.ts";
import { setDisposal } from "./internal/dispose.ts";
import { show } from "./internal/show.ts";
import { describe, rejectAll, type WaitedFor, Waiter, WaitQueue, wakeFirst } from "./internal/wait_queue.ts";
import { askAtExit, type Failing, FOR_LONG, forgetAtExit, warnUnobserved, whenOverdue } from "./internal/unobserved.ts";
import { ClosedError } from "./errors.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode TaskGroup}. */
export interface TaskGroupOptions extends NameOptions {
  /** The most tasks that run at a time; the others wait in a queue. Default: Infinity. */
  readonly limit?: number | undefined;
  /**
   * Aborts the group with its reason, which {@linkcode TaskGroup.join} then throws. The group is linked to it only while it
   * has tasks or a {@linkcode TaskGroup.scope}: otherwise it notices the abort at its next call.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The private state, for {@linkcode assertSoundTaskGroup}, which bundlers drop because it is no method. */
let stateOf: (
  taskGroup: TaskGroup,
) => readonly [tasks: number, limit: number, failures: number, closing: boolean, ended: boolean, linked: boolean];

/**
 * Runs tasks of which either all succeed or the first failure stops the rest: it aborts the others, waits for their end
 * and throws. Python's `asyncio.TaskGroup`. {@linkcode TaskGroup.scope} is the usual way to have one; with `await using`,
 * too, no task outlives the block, but a block that throws stops no task: it waits for their end.
 *
 * Not for many independent jobs, where a failure concerns nothing else (that is {@linkcode Pool}). Waiting inside a task
 * for `join` of its own group deadlocks; with a `limit`, so can waiting for another task of the group.
 *
 * No task is called synchronously, inside the call of `run`, and each runs in the asynchronous context
 * (`AsyncLocalStorage`) of that call. A failure that `join` has not thrown after 10 s, or when the process runs out of
 * work, is reported by a process warning (code `INTERLOCK_UNOBSERVED`, once for each group).
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
  // #tasks is the number of tasks that wait, are about to start, or run, and of blocks of `scope`; tasks that have a place
  // hold a permit. #ended implies #closing and #tasks === 0. #failures is empty unless the signal has aborted. #link is
  // there only while #tasks > 0, and #unobserved only while there are failures that no `join` has thrown.
  readonly #places: Places;
  readonly #joining: WaitedFor;
  readonly #joiners = new WaitQueue<void>();
  readonly #limit: number;
  #tasks = 0;
  #closing = false;
  /** Whether `scope` joins it in any case. */
  #isScope = false;
  #ended = false;
  /** Whether a call of `join` has thrown the failures: no further ones can come, as the signal has aborted. */
  #isThrown = false;
  /** The errors to throw, in the order in which they happened. */
  #failures = new Set<unknown>();
  #unobserved: UnobservedFailure | undefined;
  /** Made when it is needed: some platforms allow none while a module is loaded. */
  #controller: AbortController | undefined;
  /** The signal of the options, and the link to it. */
  readonly #outer: AbortSignal | undefined;
  #link: Cancellation | undefined;

  static {
    stateOf = (one) => [one.#tasks, one.#limit, one.#failures.size, one.#closing, one.#ended, one.#link !== undefined];
    setDisposal(TaskGroup);
    show(TaskGroup, "TaskGroup", ["name", "active", "waiting"]);
  }

  /**
   * Calls `fn` with a new group, and resolves to its result once all tasks have ended; the group has ended then. Python's
   * `async with`. `fn` is not called synchronously, inside this call.
   *
   * If `fn` throws, the group is cancelled with that error, and the error is thrown when all tasks have ended. If a task
   * fails, {@linkcode TaskGroup.signal} aborts, and its failure is thrown when `fn` and all tasks have ended. Several
   * errors come in an AggregateError, the one of `fn` first; the cancellation itself is not repeated.
   *
   * **Fairness**: as in {@linkcode TaskGroup.run}.
   *
   * **Cancellation**: by the `signal` option: the group is aborted with its reason, which is thrown when everything has
   * ended. If it has aborted before, `fn` is not called. `fn` should pass the group's signal to what it waits for.
   *
   * @param fn The function that runs tasks in the group; it may be synchronous.
   * @param options How many tasks run at a time, a signal that aborts all of them, and a name.
   * @throws {AggregateError} (as a rejection, like all of these) when several have failed.
   * @throws {TypeError} when `fn` is not a function, and for options of a wrong type.
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
    checkFunction(fn, "fn");
    const group = new TaskGroup(options);
    group.#isScope = true;
    group.#begin();
    let outcome: { readonly value: T } | { readonly error: unknown };
    try {
      throwIfAborted(group);
      await undefined;
      outcome = { value: await fn(group) };
    } catch (error) {
      outcome = { error };
      group.#fail(error, true);
    }
    group.#closing = true;
    group.#end();
    await group.join();
    if ("error" in outcome) throw outcome.error; // the cancellation itself: there is no result
    return outcome.value;
  }

  /**
   * A group without tasks. The first failure of one stops the others.
   *
   * @param options How many tasks run at a time, a signal that aborts all of them, and a name.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} when `limit` is neither a whole number of 1 or more nor `Infinity`.
   */
  constructor(options?: TaskGroupOptions) {
    checkOptions(options);
    const limit = option(options, "limit", Infinity);
    const signal = option(options, "signal");
    checkCount(limit, "limit", 1);
    if (signal !== undefined) checkSignal(signal);
    const name = readName(options);
    this.#limit = Math.min(limit, Number.MAX_SAFE_INTEGER);
    this.#places = new Places(this.#limit, name);
    this.#joining = describe(undefined, "join task group", name);
    this.#outer = signal;
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#places.name;
  }

  /** The signal that all tasks get. It aborts with the first failure, or with the reason of a cancellation. */
  get signal(): AbortSignal {
    this.#followOuter();
    return (this.#controller ??= sharedController()).signal;
  }

  /** How many tasks have a place: they run, or are about to start. */
  get active(): number {
    return this.#limit - this.#places.value;
  }

  /** How many tasks wait for a place. */
  get waiting(): number {
    return this.#places.queue.size;
  }

  /**
   * Starts `fn` and resolves to its result. Its failure aborts the group; {@linkcode TaskGroup.join} throws it, also if
   * the promise of this call was handled, so that promise may be left alone.
   *
   * A task may start further tasks, also while the group is being disposed of.
   *
   * **Fairness**: with a `limit`, tasks start strictly first come, first served.
   *
   * **Cancellation**: by the group's signal. A task that has not started when it aborts rejects with its reason, and `fn`
   * is not called.
   *
   * @param fn The function to run; it gets the group's signal, and may be synchronous.
   * @throws {ClosedError} (as a rejection, like all of these) when the group has ended.
   * @throws {TypeError} when `fn` is not a function.
   */
  run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    return promised(() => {
      checkFunction(fn, "fn");
      const { operation } = this.#places;
      if (this.#ended) throw new ClosedError(`Cannot ${operation}: task group has ended`);
      const result = this.#execute(fn);
      result.catch(() => {}); // `join` throws it
      return result;
    });
  }

  /**
   * Aborts {@linkcode TaskGroup.signal}: tasks that run are asked to end, those that have not started reject with
   * `reason`. This is no failure: {@linkcode TaskGroup.join} resolves when all have ended, unless one throws another
   * error. The first reason stays.
   *
   * @param reason The reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    const { signal } = this;
    if (this.#ended || signal.aborted) return; // the first reason stays
    this.#controller!.abort(reason);
    const cause = reasonOf(signal);
    rejectAll(this.#places.queue.takeAll(), cause);
  }

  /**
   * Waits until no task is left, and throws the failures: one as it is, several in an AggregateError in the order in which
   * they happened. It does not end the group, and a further call throws them again. Awaiting it inside a task of the group
   * deadlocks.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), nothing is stopped, and no failure is lost.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {AggregateError} (as a rejection, like all of these) when several tasks have failed.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async join(options?: WaitOptions): Promise<void> {
    const limits = admit(options);
    this.#followOuter();
    if (this.#tasks > 0) await this.#joiners.wait(new Waiter(this.#joining), limits);
    const failures = [...this.#failures];
    if (failures.length === 0) return;
    this.#isThrown = true;
    this.#unobserved?.end();
    if (failures.length === 1) throw failures[0];
    throw new AggregateError(failures, `Cannot ${this.#joining.operation}: ${failures.length} failures`);
  }

  /**
   * Ends the group once no task is left, and then does as {@linkcode TaskGroup.join}, for `await using`. Failures that a
   * call of `join` has thrown before are not thrown again: the block has either handled them or ends with them.
   */
  [Symbol.asyncDispose](): Promise<void> {
    const isKnown = this.#isThrown; // before this call
    const joined = this.join(); // before it may end: then it would not see that the signal of the options has aborted
    this.#closing = true;
    this.#checkEnd();
    return isKnown ? joined.catch(() => {}) : joined;
  }

  async #execute<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    let place: Hold | undefined;
    this.#begin();
    try {
      throwIfAborted(this);
      place = await this.#places.acquire(this.#places, 1);
      throwIfAborted(this);
      return await callIn(place, fn, this.signal);
    } catch (error) {
      this.#fail(error); // before its place is free, where the next task would start
      throw error;
    } finally {
      place?.release();
      this.#end();
    }
  }

  #begin(): void {
    this.#followOuter();
    const signal = this.#outer;
    if (signal !== undefined && !signal.aborted) this.#link ??= onCancel({ signal }, () => this.#followOuter());
    this.#tasks++;
  }

  #end(): void {
    this.#tasks--;
    this.#checkEnd();
  }

  /**
   * The signal of the options aborts the group with its reason, which `join` throws unless it has failures to throw. Looked
   * at in each call: it is listened to only while there are tasks.
   */
  #followOuter(): void {
    if (this.#ended || this.#outer?.aborted !== true || this.#failures.size > 0) return;
    const reason = reasonOf(this.#outer);
    this.#failures.add(reason);
    this.cancel(reason);
  }

  /**
   * The first failure aborts the group. An error caused by its signal is no failure.
   *
   * @param isOfBlock Whether the block of `scope` has thrown it, which comes before the failures of tasks.
   */
  #fail(error: unknown, isOfBlock = false): void {
    // Each once, also where a task passes on what another one threw.
    if (isCancellation(error, this.signal) || this.#failures.has(error)) return;
    this.#failures = new Set(isOfBlock ? [error, ...this.#failures] : [...this.#failures, error]);
    if (!isOfBlock) {
      this.#unobserved ??= new UnobservedFailure(this.#places, error, this.#isScope ? undefined : this.#joiners);
    }
    this.cancel(error);
  }

  #checkEnd(): void {
    if (this.#tasks > 0) return;
    this.#link?.end();
    this.#link = undefined;
    if (this.#closing) this.#ended = true;
    wakeFirst(this.#joiners, Infinity, undefined);
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundTaskGroup(taskGroup: TaskGroup): void {
  const { active, waiting } = taskGroup;
  const [tasks, limit, failures, closing, ended, linked] = stateOf(taskGroup);
  const isSound = tasks >= active + waiting && (!ended || closing && tasks === 0) &&
    (!linked || tasks > 0) &&
    (failures === 0 || taskGroup.signal.aborted) &&
    (waiting === 0 || active === limit && !taskGroup.signal.aborted);
  if (!isSound) throw new Error(`unsound task group: ${tasks} tasks, ${active} active, ${failures} failures`);
}

/** The places of one group. */
class Places extends Permits {
  readonly isStart = true;

  override get kind(): string {
    return "task-group";
  }

  override get operation(): string {
    return named("run in task group", this.name);
  }
}

/** The first failure of a group, until `join` has thrown it: reported once, when it is overdue or no `join` can come. */
class UnobservedFailure implements Failing {
  readonly title: string;
  readonly #error: unknown;
  readonly #joiners: WaitQueue<void> | undefined;
  readonly #stop: (() => void) | undefined;

  /** @param joiners Undefined for a group of `scope`, which joins it however long that takes. */
  constructor({ name }: Places, error: unknown, joiners: WaitQueue<void> | undefined) {
    this.title = named("task group", name);
    this.#error = error;
    this.#joiners = joiners;
    if (joiners !== undefined) this.#stop = whenOverdue(this, () => this.#report(FOR_LONG));
    askAtExit(this);
  }

  get isJoined(): boolean {
    return this.#joiners!.size > 0;
  }

  onExit(): void {
    this.#report("until the process ran out of work");
  }

  end(): void {
    this.#stop?.();
    forgetAtExit(this);
  }

  #report(when: string): void {
    this.end();
    warnUnobserved(this, when, this.#error, "use TaskGroup.scope(), or await the group's join()");
  }
}
