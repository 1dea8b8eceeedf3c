/**
 * One function that runs in a pool. Its status is "running", then one of the three others for good. The outcome is kept
 * as data: the first read of `result` creates the promise, so an unread failure does not cause an unhandled rejection.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { printAs } from "../internal/show.ts";
import type { Call } from "./call.ts";
import type { PoolState } from "./state.ts";

/**
 * The state of a {@linkcode Task}. "cancelled" means that its signal has aborted and its function has ended with the
 * cancellation itself: the signal's reason, an error that has it as its `cause`, or an AbortError (by `name`, or by the
 * `code` "ABORT_ERR" or "ERR_CANCELED") without another cause. Until the function ends the task is "running"; after any
 * other end it is "fulfilled" or "rejected".
 */
export type TaskStatus = "running" | "fulfilled" | "rejected" | "cancelled";

/**
 * A function that {@linkcode Pool.createTask} has started. It is not thenable: awaiting it results in the task itself.
 *
 * @typeParam T The type of the function's result.
 */
export interface Task<T> {
  /**
   * A promise of the function's result or error, the same at each read. Reading this property makes the reader
   * responsible for a failure, as with any promise, and {@linkcode Pool.join} does not throw it.
   */
  readonly result: Promise<T>;
  /** The signal of the function. */
  readonly signal: AbortSignal;
  /** Whether the function runs or how it ended. */
  readonly status: TaskStatus;
  /**
   * Aborts {@linkcode Task.signal}. This asks the function to end and does not force it: its slot is free when the
   * function has ended. It has no effect if the signal has aborted before, or the function has ended.
   *
   * @param reason The signal's reason. Default: an AbortError.
   */
  cancel(reason?: unknown): void;
}

export class RunningTask<T> implements Task<T> {
  #status: TaskStatus = "running";
  /** The function's result or error. */
  #outcome: unknown;
  #result: Promise<T> | undefined;
  readonly #pool: PoolState;
  readonly #controller: AbortController;
  /** Resolves when the function has ended and the status is final. Never rejects. */
  readonly #ended: Promise<void>;

  /** Starts `fn` in the slot of `call`, which has a signal of its own. */
  constructor(pool: PoolState, call: Call, fn: (signal: AbortSignal) => T | PromiseLike<T>) {
    this.#pool = pool;
    this.#controller = call.own!.controller;
    this.#ended = this.#execute(call, fn);
  }

  get result(): Promise<T> {
    this.#pool.failures.observe(this);
    return this.#result ??= this.#awaitResult();
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

  async #execute(call: Call, fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<void> {
    try {
      this.#outcome = await callIn(call, fn, this.signal);
      this.#status = "fulfilled";
    } catch (error) {
      this.#outcome = error;
      this.#status = this.#pool.isCancellation(error, this.signal) ? "cancelled" : "rejected";
      if (this.#status === "rejected" && this.#result === undefined) this.#pool.failures.add(this, error);
    }
    this.#pool.endCall(call);
  }

  /** Asynchronous throughout, so that an error's stack shows the awaiting code. */
  async #awaitResult(): Promise<T> {
    await this.#ended;
    if (this.#status === "fulfilled") return this.#outcome as T;
    throw this.#outcome;
  }
}
printAs(RunningTask, "Task", ["status"]);
