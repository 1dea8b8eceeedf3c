/**
 * A lock shared by the tabs and workers of one origin.
 *
 * @module
 */
import { runHoldingRemotely } from "../internal/call_in.ts";
import { checkOptions, checkString, must } from "../internal/check.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction } from "../internal/wrap.ts";
import type { Acquirable, WaitOptions } from "../types.ts";
import { acquire, tryAcquire, type WebGuard } from "./guard.ts";
import { checkWebName, readLocks, specOf, type WebLockMode, type WebLockOptions, type WebLockSpec } from "./options.ts";

/**
 * Mutual exclusion among all tabs and workers of an origin in a browser, and among all threads of a process in Deno and
 * Node. A name has one holder at a time, or any number of "shared" holders. A tab or worker that dies releases its
 * holds.
 *
 * Within a single thread, use `Lock`, which is far cheaper. For several processes on a server, use `RedisLock`. Not
 * re-entrant: acquiring it twice deadlocks. `acquireAll` refuses it, because platform locks have no place in its order.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { WebLock } from "@interlock/interlock/web";
 *
 * const refresh = new WebLock("token refresh");
 * const token = await refresh.run(async ({ signal }) => {
 *   await Promise.resolve();
 *   signal.throwIfAborted(); // as fetch(url, { signal }) does
 *   return "new token";
 * });
 * console.log(token); // new token
 * ```
 */
export class WebLock implements Acquirable<WebGuard> {
  readonly #spec: WebLockSpec;

  /**
   * Creates a handle of the lock with that name, without requesting it. A name means the same lock in the whole origin,
   * shared with {@linkcode WebRwLock} and with code that calls `navigator.locks` itself.
   *
   * @param name Any text that is not empty and does not begin with a hyphen.
   * @param options The mode, and a lock manager to use instead of `navigator.locks`.
   * @throws {SyncError} when the run-time has no `navigator.locks` and none is given.
   * @throws {TypeError} when an argument or option has a wrong type, or `locks` is not a LockManager.
   * @throws {RangeError} when `name` is empty or begins with a hyphen, or `mode` is unknown.
   */
  constructor(name: string, options?: WebLockOptions) {
    checkWebName(name);
    const { mode = "exclusive" } = checkOptions(options, "mode");
    checkString(mode, "mode");
    must(mode === "exclusive" || mode === "shared", "mode", 'be "exclusive" or "shared"', mode, RangeError);
    this.#spec = specOf("lock", { kind: "web-lock", name, mode, locks: readLocks("WebLock", options) });
  }

  /** The platform's name of the lock. */
  get name(): string {
    return this.#spec.name;
  }

  /** Whether the lock is held exclusively or shared with other "shared" holders. */
  get mode(): WebLockMode {
    return this.#spec.mode;
  }

  /**
   * Waits in the platform's queue for the lock.
   *
   * **Fairness**: that of the platform: first come, first served among all tabs and workers.
   *
   * **Cancellation**: by `signal` or `timeout`, at any time before the grant; the request leaves the platform's queue.
   *
   * @param options When to stop waiting; `timeout` in milliseconds. 0 tries once.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  acquire(options?: WaitOptions): Promise<WebGuard> {
    return acquire(this.#spec, options);
  }

  /** Takes the lock if it is free and its queue is empty; otherwise resolves to undefined. */
  tryAcquire(): Promise<WebGuard | undefined> {
    return tryAcquire(this.#spec);
  }

  /**
   * Calls `fn` while holding the lock, and releases it when `fn` has ended, even with an error. If the lock is stolen
   * meanwhile, `guard.signal` aborts; the call settles as `fn` does.
   *
   * **Fairness** and **Cancellation** as in {@linkcode WebLock.acquire}.
   *
   * @param fn Called with the guard.
   * @param options As for {@linkcode WebLock.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode WebLock.acquire} and of `fn`.
   */
  run<T>(fn: (guard: WebGuard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHoldingRemotely(() => this.acquire(options), fn);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode WebLock.run}. `fn` gets
   * only the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }
}
printAs(WebLock, "WebLock", ["name", "mode"]);
