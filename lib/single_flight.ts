/**
 * One run of a function, shared by all calls with its key until it ends. Invariant: new calls with a key
 * join at most one run.
 *
 * @module
 */
import { admit, checkFunction, checkKey, promiseTry, readName, type WaitLimits } from "./internal/check.ts";
import { needsOnlyPromise } from "./internal/hook.ts";
import type { QueueToServe } from "./internal/cancellation.ts";
import { sharedController } from "./internal/platform.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { rejectAll, Waiter, WaitQueue, wake } from "./internal/wait_queue.ts";
import { type WaitedFor, waitTimeoutError } from "./internal/waited_for.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/**
 * Shares one run among calls with the same key: while a function runs for a key, further calls with that key get its
 * result instead of running their own. Go's singleflight.
 *
 * It is not a cache: it keeps no result after a run has ended. To run calls one after another, use
 * {@linkcode KeyedMutex}. Keys are compared as in a `Map`; an object is a key only if the type argument says so. Use
 * one key for one kind of result: a call that joins a run does not call its own function. All callers get the same
 * object, so resolve to the body of a `fetch` Response, not to the Response: its body can be read only once.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam K The keys.
 * @example
 * ```ts
 * import { SingleFlight } from "@interlock/interlock";
 *
 * const users = new SingleFlight<number>();
 * let queries = 0;
 * const load = (id: number) =>
 *   users.run(id, async (signal) => {
 *     queries++;
 *     await Promise.resolve();
 *     signal.throwIfAborted(); // as fetch does
 *     return `user ${id}`;
 *   });
 * const [one, same] = await Promise.all([load(1), load(1), load(2)]);
 * console.log(one, same === one, queries); // user 1 true 2
 * ```
 */
export class SingleFlight<K = string | number | bigint | symbol> {
  // Each flight has callers and has not ended
  readonly #flights = new Map<K, Flight>();
  readonly #name: string | undefined;

  static {
    exposeState(SingleFlight, (singleFlight) => singleFlight.#flights);
    printAs(SingleFlight, "SingleFlight", ["name", "size"]);
  }

  /**
   * Creates a SingleFlight without runs.
   *
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when the name is not a string.
   */
  constructor(options?: NameOptions) {
    this.#name = readName(options);
  }

  /** The name shown with the key in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#name;
  }

  /** The number of keys for which a function runs, or is about to. */
  get size(): number {
    return this.#flights.size;
  }

  /**
   * Whether a function runs for `key`, or is about to.
   *
   * @param key The key.
   * @throws {TypeError} when `key` is undefined or a function.
   */
  has(key: K): boolean {
    checkKey(key);
    return this.#flights.has(key);
  }

  /**
   * Makes the next call with `key` start a new run, even while a function runs for it. Present callers keep their run.
   *
   * @param key The key.
   * @throws {TypeError} when `key` is undefined or a function.
   *
   * @example
   * ```ts
   * import { SingleFlight } from "@interlock/interlock";
   *
   * const users = new SingleFlight<number>();
   * let queries = 0;
   * const load = () => users.run(1, () => ++queries);
   * const before = load();
   * users.forget(1); // the user has changed
   * console.log(await Promise.all([before, load()])); // [ 1, 2 ]
   * ```
   */
  forget(key: K): void {
    checkKey(key);
    this.#flights.delete(key);
  }

  /**
   * Resolves to the result of the function that runs for `key`; if none runs, calls `fn` a microtask later. All calls
   * that share a run get the same result or error. After the run has ended, the next call starts a new one.
   *
   * Inside `fn`, a call with the same key gets the promise of its own run: awaiting it deadlocks.
   *
   * **Fairness**: all calls that share a run are settled at once, and resume in their order.
   *
   * **Cancellation**: by the options, for the wait of this call only. When all callers have cancelled, the signal of
   * `fn` aborts with the last caller's reason, the outcome of `fn` is ignored, and a later call starts a new run.
   *
   * @param key The key of the run.
   * @param fn The function to call, with a signal; it may be synchronous.
   * @param options When to stop waiting; `timeout` in milliseconds. With 0, `fn` is not called.
   * @throws The error of the function that runs for `key`.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when `key` is undefined or a function, `fn` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  run<T>(key: K, fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return promiseTry(() => {
      checkKey(key);
      checkFunction(fn);
      const limits = admit(options);
      const flight = this.#flights.get(key) ?? this.#begin(key, fn, limits);
      return flight.join(limits) as Promise<T>;
    });
  }

  /** Starts a run, which takes at least a microtask: too long for a time-out of 0. */
  #begin(key: K, fn: (signal: AbortSignal) => unknown, limits: WaitLimits | undefined): Flight {
    const target = { kind: "single-flight", action: "run single flight", isHeld: false, name: this.#name, key };
    if (limits?.timeout === 0) throw waitTimeoutError(target, 0);
    return new Flight(target, fn, this.#flights as Map<unknown, Flight>);
  }
}

/**
 * One run and its callers. It is in the map until it has ended, or was abandoned or forgotten; until then it has
 * callers.
 */
class Flight implements QueueToServe {
  readonly callers = new WaitQueue<unknown>(this);
  readonly #target: WaitedFor;
  readonly #flights: Map<unknown, Flight>;
  /** The promise of the last caller if nothing can cancel that call; calls right behind it share the promise. */
  #shared: Promise<unknown> | undefined;
  #controller: AbortController | undefined;

  constructor(target: WaitedFor, fn: (signal: AbortSignal) => unknown, flights: Map<unknown, Flight>) {
    this.#target = target;
    this.#flights = flights;
    flights.set(target.key, this);
    this.#runFlight(fn);
  }

  join(limits: WaitLimits | undefined): Promise<unknown> {
    const isShared = limits === undefined && needsOnlyPromise;
    if (isShared && this.#shared !== undefined) return this.#shared;
    const joined = this.callers.wait(new Waiter(this.#target), limits);
    this.#shared = isShared ? joined : undefined; // calls behind this one resume behind it
    return joined;
  }

  /** Abandons the run when all callers have cancelled. */
  serve(reason: unknown): void {
    if (this.callers.size > 0) return;
    this.#end();
    this.#controller?.abort(reason);
  }

  /** Runs `fn` and settles the callers. Never rejects. */
  async #runFlight(fn: (signal: AbortSignal) => unknown): Promise<void> {
    await undefined; // `fn` is never called synchronously
    if (this.callers.size === 0) return this.#end();
    this.#controller = sharedController();
    try {
      const value = await fn(this.#controller.signal);
      this.#end();
      wake(this.callers, value);
    } catch (error) {
      this.#end();
      rejectAll(this.callers.takeAll(), error);
    }
  }

  /** Removes the run, unless another one has replaced it. */
  #end(): void {
    const { key } = this.#target;
    if (this.#flights.get(key) === this) this.#flights.delete(key);
  }
}
