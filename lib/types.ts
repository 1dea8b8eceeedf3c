/**
 * The interfaces shared by local and remote primitives. Types only.
 *
 * @module
 */

/** Options of all local primitives. */
export interface NameOptions {
  /** Appears in error messages, `console.log` and diagnostics. Need not be unique. */
  readonly name?: string | undefined;
}

/** Options of all local primitives with a bounded queue. */
export interface MaxWaitingOptions extends NameOptions {
  /**
   * The maximum number of waiting calls, 0 or more. A call beyond it rejects at once with a {@linkcode QueueFullError};
   * a call that need not wait is never refused. Default: `Infinity`.
   */
  readonly maxWaiting?: number | undefined;
}

/**
 * Options that end a wait early. Almost every waiting method takes them, and reads them once, when it is called. The
 * exceptions: `TaskGroup.run` takes neither, maps take only a signal, and wrappers by arguments only a timeout.
 */
export interface WaitOptions {
  /**
   * Ends the wait when it aborts: the call rejects with `signal.reason` as it is. An already aborted signal rejects the
   * call even if it would not have to wait. An abort after the grant has no effect.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds after which the call rejects with a {@linkcode TimeoutError}. It bounds the whole wait. 0 tries once
   * without waiting; `undefined` and `Infinity` wait indefinitely.
   */
  readonly timeout?: number | undefined;
}

/**
 * Stands for one hold, and can release it once. Releasing or disposing of it again has no effect, and never releases
 * another caller's hold.
 */
export interface Guard extends Disposable, AsyncDisposable {
  /** Whether the hold still lasts. */
  readonly held: boolean;
  /** Gives the hold back. Idempotent. */
  release(): void;
}

/**
 * A primitive that can be held, in one process or across machines. Code that uses this interface with `await using`
 * moves to several processes by changing only the line that creates the lock.
 *
 * @typeParam G The guard or lease of a successful acquisition.
 * @typeParam O The options of a wait.
 */
export interface Acquirable<
  G extends AsyncDisposable,
  O extends WaitOptions = WaitOptions,
> {
  /**
   * Waits in a queue, first come, first served, and resolves to the guard or lease.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws The other errors of the class, such as `ClosedError` or `RedisError`.
   */
  acquire(options?: O): Promise<G>;
  /** Tries once, without waiting and without overtaking a waiter. */
  tryAcquire(): G | undefined | Promise<G | undefined>;
  /**
   * Calls `fn` while holding the lock, and releases it when `fn` has ended, even with an error.
   *
   * @param fn Called with the guard or lease.
   * @param options As for {@linkcode Acquirable.acquire}; they bound the wait, not `fn`.
   * @throws The errors of {@linkcode Acquirable.acquire} and of `fn`.
   */
  run<T>(fn: (guard: G) => T | PromiseLike<T>, options?: O): Promise<T>;
}
