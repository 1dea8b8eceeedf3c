/**
 * The work of one pool: running functions, maps, and failures that are not observed yet.
 *
 * @module
 */
import { onCancel, reasonOf } from "../internal/cancellation.ts";
import { readWaitOptions, throwIfAborted, type WaitLimits } from "../internal/check.ts";
import { WaitQueue } from "../internal/wait_queue.ts";
import { describe, PlainWaiter, type WaitedFor } from "../internal/waiter.ts";
import { ClosedError } from "../errors.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { type SlotCall, Slots, type SlotUse } from "./slots.ts";
import type { WaitOptions } from "../types.ts";

/** A map as its pool sees it. */
export interface MapInProgress {
  /** Ends it early, because the pool is cancelled. */
  cancel(reason: unknown): void;
  /** There may be room for more items now. */
  poke(): void;
}

/** The errors that one `join` throws. */
export type Failures = readonly unknown[];

export class PoolState {
  // Cancelled implies closed.
  closed = false;
  readonly name: string | undefined;
  readonly slots: Slots;
  /** The three ways to wait for a slot. */
  readonly creating: SlotUse;
  readonly running: SlotUse;
  readonly mapping: SlotUse;
  readonly #joining: WaitedFor;
  readonly #joiners = new WaitQueue<Failures>();
  readonly #cancelled = new AbortController();
  /** One for each function that has a signal of its own. */
  readonly #controllers = new Set<AbortController>();
  readonly #maps = new Set<MapInProgress>();
  /** By the task or map that failed. */
  readonly #failures = new Map<object, unknown>();

  constructor(limit: number, name: string | undefined, rate: RateLimiter | undefined) {
    this.name = name;
    this.slots = new Slots(limit, rate, () => this.#checkIdle());
    const slot = (operation: string) => ({ ...describe(undefined, operation, name), kind: "pool", group: this });
    this.creating = slot(name === undefined ? "create task" : "create task in pool");
    this.running = slot("run in pool");
    this.mapping = slot("map in pool");
    this.#joining = describe(undefined, "join pool", name);
  }

  setLimit(limit: number): void {
    this.slots.limit = limit;
    for (const map of this.#maps) map.poke();
  }

  /** Throws for bad options, then for a closed pool, then for an aborted signal. */
  admit({ operation }: WaitedFor, options: WaitOptions | undefined): WaitLimits | undefined {
    const limits = options === undefined ? undefined : readWaitOptions(options);
    if (this.closed) throw new ClosedError(`Cannot ${operation}: pool is closed`);
    throwIfAborted(limits);
    return limits;
  }

  /** The error of a `join` that cannot end well. */
  get cannotJoin(): string {
    return `Cannot ${this.#joining.operation}`;
  }

  /** Waits for the slot of `call`, and for a turn in any case: no function is called synchronously. */
  slot(call: SlotCall): Promise<void> | undefined {
    return this.slots.tryTake(call) ? undefined : this.slots.wait(call);
  }

  /**
   * The function of `call`, which has its slot, is about to start: returns the controller of its signal, which is the
   * pool's unless the function needs its own or the caller's signal has to reach it. A call that was cancelled between
   * the grant and this moment does not start.
   */
  begin(call: SlotCall, needsOwn: boolean): AbortController {
    try {
      this.#cancelled.signal.throwIfAborted();
      throwIfAborted(call.limits);
      return needsOwn || call.limits?.signal !== undefined ? this.#own(call) : this.#cancelled;
    } catch (error) {
      this.free(call);
      throw error;
    }
  }

  #own(call: SlotCall): AbortController {
    const controller = new AbortController();
    const signal = call.limits?.signal;
    if (signal !== undefined) call.link = onCancel({ signal }, () => controller.abort(reasonOf(signal)));
    this.#controllers.add(controller);
    return controller;
  }

  /** Ends what {@linkcode PoolState.begin} began. */
  end(call: SlotCall, controller: AbortController): void {
    if (controller !== this.#cancelled) this.#controllers.delete(controller);
    call.link?.end();
    this.free(call);
  }

  free(call: SlotCall): void {
    this.slots.free(call);
    this.#checkIdle();
  }

  beginMap(map: MapInProgress): void {
    this.#maps.add(map);
  }

  endMap(map: MapInProgress): void {
    this.#maps.delete(map);
    this.#checkIdle();
  }

  /** Keeps a failure for `join` until it is observed. */
  fail(owner: object, error: unknown): void {
    this.#failures.set(owner, error);
  }

  /** The outcome of `owner` is observed, so it is not for `join`. */
  observe(owner: object): void {
    this.#failures.delete(owner);
  }

  /** Whether a function that threw `error` ended because its own signal or the whole pool's had aborted. */
  isCancellation(error: unknown, signal: AbortSignal): boolean {
    return isCancellation(error, signal) || isCancellation(error, this.#cancelled.signal);
  }

  cancel(reason: unknown): void {
    if (this.#cancelled.signal.aborted) return; // the first reason stays
    this.closed = true;
    this.#cancelled.abort(reason);
    const cause = this.#cancelled.signal.reason; // never undefined
    this.slots.rejectQueued(cause);
    for (const map of this.#maps) map.cancel(cause);
    for (const controller of this.#controllers) controller.abort(cause);
    this.#checkIdle();
  }

  /** Resolves to the unobserved failures as soon as nothing runs and nothing is queued. */
  async join(options: WaitOptions | undefined): Promise<Failures> {
    const limits = readWaitOptions(options);
    throwIfAborted(limits);
    return this.#isIdle ? this.#takeFailures() : await this.#joiners.wait(new PlainWaiter(this.#joining), limits);
  }

  get #isIdle(): boolean {
    return this.slots.active === 0 && this.slots.waiting === 0 && this.#maps.size === 0;
  }

  #checkIdle(): void {
    // All calls of join get the failures; with none, the failures stay for the next.
    if (this.#joiners.size > 0 && this.#isIdle) this.#joiners.wakeAll(this.#takeFailures());
  }

  #takeFailures(): Failures {
    const failures = [...this.#failures.values()];
    this.#failures.clear();
    return failures;
  }
}

/** Whether `error` is the signal's reason, or an AbortError with the reason as its cause, as Node's functions throw it. */
function isCancellation(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (error === signal.reason) return true;
  try {
    return error instanceof Error && error.name === "AbortError" && error.cause === signal.reason;
  } catch {
    return false; // a getter or a proxy that throws
  }
}
