/**
 * The interfaces that local and remote primitives share. Types only: nothing here exists at run time.
 *
 * @module
 */

/** Options of everything local. */
export interface NameOptions {
  /** Appears in error messages, `console.log` and diagnostics. Need not be unique. */
  readonly name?: string | undefined;
}

/** Options of everything local that has a queue for holds or places. */
export interface MaxWaitingOptions extends NameOptions {
  /**
   * The most calls that may wait, 0 or more. A call that would be one more rejects at once with a
   * {@linkcode QueueFullError}; a call that need not wait is never refused. Default: `Infinity`.
   */
  readonly maxWaiting?: number | undefined;
}

/** Ends a wait early. Every method that waits takes these. They are read once, when the call is made. */
export interface WaitOptions {
  /**
   * Ends the waiting when it aborts: the call rejects with `signal.reason` as it is. A signal that is already aborted
   * rejects even if the call would not have to wait. An abort after the grant changes nothing.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds after which the call rejects with a {@linkcode TimeoutError}. It bounds the whole wait. 0 tries once
   * without waiting; `undefined` and `Infinity` wait indefinitely.
   */
  readonly timeout?: number | undefined;
}

/**
 * Proof of one hold, spent once. Releasing or disposing it a second time does nothing, and can never release the hold of
 * another caller.
 */
export interface Guard extends Disposable, AsyncDisposable {
  /** Whether the hold still lasts. */
  readonly held: boolean;
  /** Gives the hold back. Idempotent. */
  release(): void;
}

/**
 * Everything that can be held, in one process or across machines. Code written against this interface with
 * `await using` moves from one process to many by changing the line that makes the lock.
 *
 * @typeParam G The guard or lease of a successful acquisition.
 * @typeParam O The options that waiting takes.
 */
export interface Acquirable<
  G extends AsyncDisposable,
  O extends WaitOptions = WaitOptions,
> {
  /** Waits in a queue, first come, first served, and resolves to the proof of the hold. */
  acquire(options?: O): Promise<G>;
  /** Tries once, without waiting and without overtaking a waiter. */
  tryAcquire(): G | undefined | Promise<G | undefined>;
  /** Calls `fn` while holding, and releases when `fn` has ended, either way. */
  run<T>(fn: (guard: G) => T | PromiseLike<T>, options?: O): Promise<T>;
}
