/**
 * One function at work in a pool: running, then fulfilled, rejected or cancelled, for good. Its outcome is kept as data;
 * a promise of it exists only once somebody asks, so what nobody asks for is nobody's unhandled rejection.
 *
 * @module
 */
import type { PoolState } from "./state.ts";

/**
 * How far a {@linkcode Task} is. "cancelled" means that its function has ended by throwing what it was cancelled with;
 * until it ends it is "running", and if it ends otherwise it is "fulfilled" or "rejected".
 */
export type TaskStatus = "running" | "fulfilled" | "rejected" | "cancelled";

/**
 * The handle of what {@linkcode Pool.createTask} has started. It is not a promise and not thenable: awaiting it gives
 * the task itself.
 *
 * @typeParam T What the function returns.
 */
export interface Task<T> {
  /**
   * What the function returns or throws. Who reads this property takes the outcome over: a failure is then theirs to
   * handle, as with any promise, and {@linkcode Pool.join} does not throw it. The same promise each time.
   */
  readonly result: Promise<T>;
  /** The signal that the function was given. */
  readonly signal: AbortSignal;
  /** How far it is. */
  readonly status: TaskStatus;
  /**
   * Aborts {@linkcode Task.signal}. The function is asked to end, not made to; its place is free when it has ended. The
   * first reason stays, and after the end this does nothing.
   *
   * @param reason What the signal's reason becomes; an AbortError unless given.
   */
  cancel(reason?: unknown): void;
}

export class RunningTask<T> implements Task<T> {
  #status: TaskStatus = "running";
  /** What the function returned or threw. */
  #outcome: unknown;
  #result: Promise<T> | undefined;
  readonly #pool: PoolState;
  readonly #controller: AbortController;
  readonly #ended: Promise<void>;

  /** Starts `fn` in a place that is taken by now. */
  constructor(pool: PoolState, controller: AbortController, fn: (signal: AbortSignal) => T | PromiseLike<T>) {
    this.#pool = pool;
    this.#controller = controller;
    this.#ended = this.#execute(fn);
  }

  get result(): Promise<T> {
    this.#pool.taken(this);
    return this.#result ??= this.#settled();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get status(): TaskStatus {
    return this.#status;
  }

  cancel(reason?: unknown): void {
    if (this.#status === "running") this.#controller.abort(reason);
  }

  async #execute(fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<void> {
    try {
      this.#outcome = await fn(this.signal);
      this.#status = "fulfilled";
    } catch (error) {
      this.#outcome = error;
      this.#status = this.#pool.isCancellation(error, this.signal) ? "cancelled" : "rejected";
      if (this.#status === "rejected" && this.#result === undefined) this.#pool.fail(this, error);
    }
    this.#pool.end(this.#controller);
  }

  /** Asynchronous all the way, so that the stack of an error shows who awaits the result. */
  async #settled(): Promise<T> {
    await this.#ended;
    if (this.#status === "fulfilled") return this.#outcome as T;
    throw this.#outcome;
  }
}
