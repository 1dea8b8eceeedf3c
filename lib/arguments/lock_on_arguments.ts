/**
 * Calls with equal arguments run one at a time.
 *
 * @module
 */
import { checkCopy, must } from "../internal/check.ts";
import { isNamed } from "../internal/class_name.ts";
import { identityOf } from "../internal/state.ts";
import { KeyedMutex } from "../keyed_mutex.ts";
import type { WaitOptions } from "../types.ts";
import { checkOnArguments, type KeyPart, type LockedOnArguments, onArguments } from "./on_arguments.ts";

export type { KeyPart, LockedOnArguments };

/** The part of a mutex that {@linkcode lockOnArguments} uses. KeyedMutex and RedisKeyedMutex have it. */
export interface ArgumentMutex {
  /** Calls `fn` while holding `key`. */
  run<T>(key: string, fn: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T>;
}

/** Options of {@linkcode lockOnArguments}. */
export interface LockOnArgumentsOptions {
  /** Functions with the same name share their keys. Without a name, only calls of the same function do. */
  readonly name?: string | undefined;
  /** Milliseconds after which a waiting call rejects with a {@linkcode TimeoutError}. */
  readonly timeout?: number | undefined;
}

/**
 * Runs calls of a function with equal selected arguments one at a time; all other calls run freely. A wrapper for
 * functions and a standard decorator for methods.
 *
 * With a {@linkcode KeyedMutex}, two functions never share keys unless both are given the same
 * `name`. A `RedisKeyedMutex` requires a `name`: it identifies the calls in every process, even if a minifier has renamed
 * functions and classes. Give one, too, when you pass a wrapper around a `RedisKeyedMutex`, which no check can recognize.
 *
 * It neither caches nor drops repeated calls: every call runs. Not re-entrant: a function that calls itself with the
 * same arguments deadlocks. Not for generator functions or legacy decorators (`experimentalDecorators`).
 *
 * **Fairness**: calls with equal arguments run in the order in which they were made.
 *
 * **Cancellation**: by `timeout` only; to cancel by a signal, use the mutex itself.
 *
 * @param mutex Where the keys are held.
 * @param select Which arguments count: their positions from 0, or a function that makes the key from all of them.
 *   It distinguishes null, undefined, NaN, bigints, numbers, strings and booleans.
 * @param options The function's name and how long a call may wait.
 * @throws {TypeError} when an argument has a wrong type; when a RedisKeyedMutex is passed without a `name`; when the
 *   KeyedMutex is of another copy of this module; when the function is a generator function; and when applied as a
 *   legacy decorator. A call rejects with it when a selected argument is an object: pass a key function instead.
 * @throws {RangeError} when a position is not a whole number of 0 or more, `name` is empty or `timeout` is negative or
 *   NaN.
 * @example
 * ```ts
 * import { KeyedMutex, lockOnArguments } from "@interlock/interlock";
 *
 * let balance = 100;
 * const withdraw = lockOnArguments(new KeyedMutex<string>(), [0])(
 *   async (card: string, amount: number) => {
 *     const before = balance;
 *     await Promise.resolve();
 *     balance = before - amount;
 *   },
 * );
 * await Promise.all([withdraw("card 1", 10), withdraw("card 1", 20)]);
 * console.log(balance); // 70
 * ```
 */
export function lockOnArguments<A extends readonly unknown[] = []>(
  mutex: ArgumentMutex,
  select: readonly number[] | ((...args: A) => KeyPart | readonly KeyPart[]),
  options: LockOnArgumentsOptions = {},
): LockedOnArguments<A> {
  checkMutex(mutex);
  const checked = checkOnArguments(select, options);
  const needsName = isNamed(mutex, "RedisKeyedMutex") && checked.name === undefined;
  must(!needsName, "name", "be given: it identifies the calls of a RedisKeyedMutex in every process", checked.name);
  return onArguments("lockOnArguments", select, checked, (key, fn, limits) => mutex.run(key, fn, limits));
}

/** Classes whose `run` takes no key and would call it, or does not exclude calls, beside those that have a place. */
const UNFIT =
  "Condition Pool TaskGroup RateLimiter RedisRateLimiter KeyedRateLimiter KeyedSemaphore SingleFlight WebLock"
    .split(" ");

function checkMutex(mutex: ArgumentMutex): void {
  const isUnfit = identityOf(mutex) !== undefined || UNFIT.some((name) => isNamed(mutex, name));
  const canRun = typeof (mutex as Partial<ArgumentMutex> | undefined)?.run === "function";
  must(canRun && !isUnfit, "mutex", "be a KeyedMutex or RedisKeyedMutex", mutex);
  // Both copies number unnamed functions from 1, so their keys would collide.
  const isForeign = !(mutex instanceof KeyedMutex) && isNamed(mutex, "KeyedMutex") &&
    identityOf((mutex as Partial<KeyedMutex>).at?.("x")) !== undefined;
  checkCopy(!isForeign, mutex, "mutex");
}
