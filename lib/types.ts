/**
 * The words that every primitive, local or remote, is described with. Types only: nothing here exists at run time.
 *
 * @module
 */

/** How long, and until when, a call may wait. Every method that waits takes these. */
export interface WaitOptions {
  /**
   * Ends the waiting when it aborts: the call rejects with `signal.reason` as it is. A signal that is already aborted
   * rejects even where nothing would have to be waited for. An abort after the grant changes nothing.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds after which the call gives up with a {@linkcode TimeoutError}. It bounds the waiting, the whole of it. 0
   * means one attempt without waiting; `undefined` and `Infinity` mean for ever.
   */
  readonly timeout?: number | undefined;
}

/**
 * Proof of one hold, spent once. Releasing or disposing it a second time does nothing, and can never release what
 * somebody else holds.
 */
export interface Guard extends Disposable, AsyncDisposable {
  /** Whether the hold still lasts. */
  readonly held: boolean;
  /** Gives the hold back. Idempotent. */
  release(): void;
}

/**
 * Everything that can be held, in one process or across machines. Code written against this interface with
 * `await using` moves from one process to many by changing the line that makes the thing.
 *
 * @typeParam G What a successful acquisition hands out.
 * @typeParam O The options that waiting takes.
 */
export interface Acquirable<
  G extends AsyncDisposable,
  O extends WaitOptions = WaitOptions,
> {
  /** Waits in line, first come first served, and resolves to the proof of the hold. */
  acquire(options?: O): Promise<G>;
  /** One attempt, without waiting and without overtaking who waits. */
  tryAcquire(): G | undefined | Promise<G | undefined>;
  /** Calls `fn` while holding, and gives the hold back however `fn` ends. */
  run<T>(fn: (guard: G) => T | PromiseLike<T>, options?: O): Promise<T>;
}
