/**
 * One function that runs in a pool: running, then fulfilled, rejected or cancelled, for good. Its outcome is kept as data.
 * A promise of it is made by the first read of `result`, so an unread failure is no unhandled rejection.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { show } from "../internal/show.ts";
import type { SlotCall } from "./slots.ts";
import type { PoolState } from "./state.ts";

/**
 * The state of a {@linkcode Task}. "cancelled" means that its signal has aborted and its function has ended with the
 * cancellation itself: the signal's reason, an error that has it as its `cause`, or an AbortError (by `name`, or by the
 * `code` "ABORT_ERR" or "ERR_CANCELED") without another cause. Until it ends it is "running"; if it ends otherwise it is
 * "fulfilled" or "rejected".
 */
export type TaskStatus = "running" | "fulfilled" | "rejected" | "cancelled";

/**
 * A function that {@linkcode Pool.createTask} has started. Not a promise and not thenable: awaiting it results in the
 * task itself.
 *
 * @typeParam T The type of the function's result.
 */
export interface Task<T> {
  /**
   * The function's result or error, the same promise each time. Reading this property makes a failure the reader's to
   * handle, as with any promise, and {@linkcode Pool.join} does not throw it.
   */
  readonly result: Promise<T>;
  /** The signal of the function. */
  readonly signal: AbortSignal;
  /** Whether it runs, and else how it ended. */
  readonly status: TaskStatus;
  /**
   * Aborts {@linkcode Task.signal}. The function is asked to end, not forced to; its slot is free when it has ended. The
   * first reason stays, and after the end this does nothing.
   *
   * @param reason The signal's reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void;
}

export class RunningTask<T> implements Task<T> {
  static {
    show(RunningTask, "Task", ["status"]);
  }

  #status: TaskStatus = "running";
  /** The function's result or error. */
  #outcome: unknown;
  #result: Promise<T> | undefined;
  readonly #pool: PoolState;
  readonly #controller: AbortController;
  readonly #ended: Promise<void>;

  /** Starts `fn` in the slot of `call`, which has a controller. */
  constructor(pool: PoolState, call: SlotCall, fn: (signal: AbortSignal) => T | PromiseLike<T>) {
    this.#pool = pool;
    this.#controller = call.controller!;
    this.#ended = this.#execute(call, fn);
  }

  get result(): Promise<T> {
    this.#pool.failures.observe(this);
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

  async #execute(call: SlotCall, fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<void> {
    try {
      this.#outcome = await callIn(call, fn, this.signal);
      this.#status = "fulfilled";
    } catch (error) {
      this.#outcome = error;
      this.#status = this.#pool.isCancellation(error, this.signal) ? "cancelled" : "rejected";
      if (this.#status === "rejected" && this.#result === undefined) this.#pool.failures.add(this, error);
    }
    this.#pool.end(call);
  }

  /** Asynchronous all the way, so that the stack of an error shows who awaits the result. */
  async #settled(): Promise<T> {
    await this.#ended;
    if (this.#status === "fulfilled") return this.#outcome as T;
    throw this.#outcome;
  }
}
