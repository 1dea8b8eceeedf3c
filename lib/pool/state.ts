/**
 * The work of one pool: running functions, maps and unobserved failures.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { onCancel, reasonOf } from "../internal/cancellation.ts";
import { admit, type QueueOptions, throwIfAborted, type WaitLimits, withName } from "../internal/check.ts";
import { step } from "../internal/hook.ts";
import { isCancellation } from "../internal/is_cancellation.ts";
import { sharedController } from "../internal/platform.ts";
import { grant, queueFullError, Waiter, WaitQueue } from "../internal/wait_queue.ts";
import { closedError, describe, UNOBSERVED, type WaitedFor } from "../internal/waited_for.ts";
import type { StartQueue } from "../internal/start_queue.ts";
import { type TakenFailures, UnobservedFailures } from "../internal/unobserved.ts";
import { Call, readCall } from "./call.ts";
import { Slots } from "./slots.ts";
import type { TaskOptions } from "./types.ts";
import type { WaitOptions } from "../types.ts";

/** A map as its pool sees it. */
export interface MapInProgress {
  /** Ends the map early because the pool is cancelled. */
  cancel(reason: unknown): void;
  /** Checks again whether there is room for more items. */
  checkRoom(): void;
}

export class PoolState {
  // Cancelled implies closed. Joiners imply that something runs, is queued or is read.
  closed = false;
  readonly name: string | undefined;
  readonly slots: Slots;
  readonly failures: UnobservedFailures;
  /** The ways to use a slot, as messages and observers name them. */
  readonly createTarget: WaitedFor;
  readonly runTarget: WaitedFor;
  readonly mapTarget: WaitedFor;
  readonly maps: Set<MapInProgress> = new Set<MapInProgress>();
  readonly #maxWaiting: number;
  readonly #joinTarget: WaitedFor;
  readonly joiners = new WaitQueue<TakenFailures>();
  /**
   * Aborted by cancel(); its signal is that of the pool. Created on first use: Cloudflare Workers forbids it at module
   * scope.
   */
  #canceller: AbortController | undefined;
  /** One for each running function with a signal of its own. */
  readonly controllers = new Set<AbortController>();

  constructor(limit: number, rate: StartQueue | undefined, { name, maxWaiting }: QueueOptions) {
    this.name = name;
    const remedy = "await the pool's join(), or the result of each task";
    this.failures = new UnobservedFailures(this.title, () => this.joiners.size > 0, remedy, true);
    this.#maxWaiting = maxWaiting;
    this.slots = new Slots(limit, rate, () => this.#checkIdle());
    const targetOf = (action: string): WaitedFor => ({
      kind: "pool",
      name,
      action,
      sharedState: this,
      // Rather than for a start or for the end of a pause.
      waitsForRelease: () => this.slots.limit > 0 && this.slots.active >= this.slots.limit,
    });
    this.createTarget = { ...targetOf(name === undefined ? "create task" : "create task in pool"), isStart: true };
    this.runTarget = targetOf("run in pool");
    this.mapTarget = targetOf("map in pool");
    this.#joinTarget = describe(UNOBSERVED, "join pool", name);
  }

  setLimit(limit: number): void {
    this.slots.limit = limit;
    step(() => this.slots.serve());
    for (const map of this.maps) map.checkRoom();
  }

  /** Throws if the pool is closed, and then if the signal of a call has aborted. */
  admit(target: WaitedFor, limits?: Pick<WaitLimits, "signal">): void {
    if (this.closed) throw closedError(target);
    throwIfAborted(limits);
  }

  /** The pool in messages. */
  get title(): string {
    return withName("pool", this.name);
  }

  /** Creates the call of `run` or `createTask`. Throws if it is not admitted. */
  newCall(target: WaitedFor, options: TaskOptions | undefined): Call {
    const { rate } = this.slots;
    const call = options === undefined ? new Call(target, undefined) : readCall(target, options, rate);
    rate?.waiters.checkOpen(rate.target);
    this.admit(target, call.options);
    return call;
  }

  /** Takes the slot of a call, or waits for it. Undefined if it need not wait. */
  takeSlot(call: Call): Promise<void> | undefined {
    const { slots } = this;
    if (slots.tryTake(call)) return undefined;
    const { size } = slots.queue;
    if (size >= this.#maxWaiting && call.options?.timeout !== 0) throw queueFullError(call, size);
    return slots.wait(call);
  }

  /**
   * Returns the signal for the function of a call that has its slot: the pool's, unless the function needs its own or
   * the caller's signal has to reach it. Throws if the call was cancelled after the grant.
   *
   * @param needsOwnSignal Whether the function may listen. It gets a signal of its own, so that it leaves no listener on
   *   the shared signal.
   */
  begin(call: Call, needsOwnSignal: boolean): AbortSignal {
    const signal = call.options?.signal;
    throwIfAborted(call.options);
    if (this.closed) throwIfAborted(this.#canceller); // on Workers, a signal cannot be read in other requests
    if (!needsOwnSignal && signal === undefined) return this.#signal();
    const controller = sharedController();
    this.controllers.add(controller);
    const watch = signal && onCancel({ signal }, () => controller.abort(reasonOf(signal)));
    call.own = { controller, watch };
    return controller.signal;
  }

  /**
   * Calls `fn` in the slot of a call. A method of its own, with few variables and expressions, as a queued call keeps
   * memory for each.
   */
  async run<T>(call: Call, fn: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    await this.takeSlot(call);
    let result;
    try {
      result = await this.#start(call, fn); // awaited, not just returned, so that an error's stack shows the caller
    } catch (error) {
      this.endCall(call);
      throw error;
    }
    this.endCall(call);
    return result;
  }

  #start<T>(call: Call, fn: (signal: AbortSignal) => T): T {
    return callIn(call, fn, this.begin(call, fn.length > 0)); // without parameters, it cannot see its signal
  }

  /** Frees the slot after the function of a call has ended or {@linkcode PoolState.begin} threw. */
  endCall(call: Call): void {
    if (call.own !== undefined) {
      this.controllers.delete(call.own.controller);
      call.own.watch?.end();
    }
    this.slots.free(call);
  }

  endMap(map: MapInProgress): void {
    this.maps.delete(map);
    this.#checkIdle();
  }

  /** Whether `error` is due to an abort of the function's own signal or of the pool's. */
  isCancellation(error: unknown, signal: AbortSignal): boolean {
    return isCancellation(error, signal) || (this.#canceller !== undefined && isCancellation(error, this.#signal()));
  }

  cancel(reason: unknown): void {
    const signal = this.#signal(); // creates #canceller
    if (signal.aborted) return; // the first reason stays
    this.closed = true;
    this.#canceller!.abort(reason);
    const cause = reasonOf(signal);
    this.slots.rejectQueued(cause);
    for (const map of this.maps) map.cancel(cause);
    for (const controller of this.controllers) controller.abort(cause);
  }

  /** Resolves to the unobserved failures as soon as nothing runs and nothing is queued. */
  async join(options: WaitOptions | undefined): Promise<TakenFailures> {
    const limits = admit(options);
    return this.#isIdle() ? this.failures.take() : await this.joiners.wait(new Waiter(this.#joinTarget), limits);
  }

  #signal(): AbortSignal {
    return (this.#canceller ??= sharedController()).signal;
  }

  #isIdle(): boolean {
    return this.slots.active === 0 && this.slots.queue.size === 0 && this.maps.size === 0;
  }

  #checkIdle(): void {
    if (this.joiners.size === 0 || !this.#isIdle()) return;
    // Taken by the first joiner that is served, so that an aborted joiner takes none.
    let failures: TakenFailures | undefined;
    for (const joiner of this.joiners.takeAll()) grant(joiner, failures ??= this.failures.take());
  }
}
