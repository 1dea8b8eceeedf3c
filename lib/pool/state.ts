/**
 * The work of one pool: running functions, maps, and failures that are not observed yet.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { type Cancellation, onCancel, reasonOf } from "../internal/cancellation.ts";
import { named, readWaitOptions, throwIfAborted, type WaitLimits } from "../internal/check.ts";
import { isCancellation } from "../internal/is_cancellation.ts";
import { describe, grant, type WaitedFor, Waiter, WaitQueue } from "../internal/wait_queue.ts";
import { ClosedError } from "../errors.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { Failures, type TakenFailures } from "./failures.ts";
import { SlotCall, type SlotUse } from "./lanes.ts";
import { Slots } from "./slots.ts";
import type { WaitOptions } from "../types.ts";

/** A map as its pool sees it. */
export interface MapInProgress {
  /** Ends it early, because the pool is cancelled. */
  cancel(reason: unknown): void;
  /** There may be room for more items now. */
  poke(): void;
}

export class PoolState {
  // Cancelled implies closed.
  closed = false;
  readonly name: string | undefined;
  readonly slots: Slots;
  readonly failures: Failures = new Failures(this);
  /** The ways to use a slot. */
  readonly creating: SlotUse;
  readonly running: SlotUse;
  readonly mapping: SlotUse;
  /** A map that asks its source for an item. */
  readonly pulling: SlotUse;
  readonly #joining: WaitedFor;
  readonly #joiners = new WaitQueue<TakenFailures>();
  /** Made when it is needed first: Cloudflare Workers forbids it at module scope. */
  #cancelled: AbortController | undefined;
  /** One for each function that has a signal of its own. */
  readonly #controllers = new Set<AbortController>();
  readonly #maps = new Set<MapInProgress>();

  constructor(limit: number, name: string | undefined, rate: RateLimiter | undefined, maxWaiting: number) {
    this.name = name;
    this.slots = new Slots(limit, rate, maxWaiting, () => this.#checkIdle());
    const use = (operation: string, needsStart = true, isMap = false): SlotUse => ({
      kind: "pool",
      name,
      operation: named(operation, name),
      group: this,
      waitsForRelease: () => this.slots.isFull,
      needsStart,
      isMap,
    });
    this.creating = { ...use(name === undefined ? "create task" : "create task in pool"), isStart: true };
    this.running = use("run in pool");
    this.mapping = use("map in pool", true, true);
    this.pulling = use("map in pool", false, true);
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
    this.#throwIfCancelled(limits);
    return limits;
  }

  /** Asks the signal of a call first: a foreign one runs its code, which may cancel the pool. */
  #throwIfCancelled(limits: WaitLimits | undefined): void {
    throwIfAborted(limits);
    if (this.closed) this.#signal().throwIfAborted();
  }

  get title(): string {
    return named("pool", this.name);
  }

  /** A call that is about to wait for its slot. */
  call(use: SlotUse, options: WaitOptions | undefined, priority: number): SlotCall {
    return new SlotCall(use, this.admit(use, options), priority);
  }

  /** Waits for the slot of `call`, and for a turn in any case: no function is called synchronously. */
  slot(call: SlotCall): Promise<void> | undefined {
    return this.slots.tryTake(call) ? undefined : this.slots.wait(call);
  }

  /**
   * Returns the signal for the function of `call`, which has its slot and is about to start: the pool's, unless the
   * function needs its own or the caller's signal has to reach it. Throws if the call was cancelled since the grant.
   */
  begin(call: SlotCall, needsOwn: boolean): AbortSignal {
    const { limits } = call;
    this.#throwIfCancelled(limits);
    if (!needsOwn && limits?.signal === undefined) return this.#signal();
    const controller = call.controller = new AbortController();
    this.#controllers.add(controller);
    if (limits?.signal !== undefined) call.link = linked(limits.signal, controller);
    return controller.signal;
  }

  /** Calls `fn` in the slot of `call`. */
  start<T>(call: SlotCall, fn: (signal: AbortSignal) => T): T {
    // A function that listens gets a signal of its own, so that nothing is left on a shared one; making one is slow.
    return callIn(call, fn, this.begin(call, fn.length > 0));
  }

  /** The function of `call` has ended, or {@linkcode PoolState.begin} threw. */
  end(call: SlotCall): void {
    if (call.controller !== undefined) {
      this.#controllers.delete(call.controller);
      call.link?.end();
    }
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

  /** Whether a function that threw `error` ended because its own signal or the whole pool's had aborted. */
  isCancellation(error: unknown, signal: AbortSignal): boolean {
    return isCancellation(error, signal) || (this.#cancelled !== undefined && isCancellation(error, this.#signal()));
  }

  cancel(reason: unknown): void {
    const signal = this.#signal();
    if (signal.aborted) return; // the first reason stays
    this.closed = true;
    this.#cancelled!.abort(reason);
    const cause = signal.reason; // never undefined
    this.slots.rejectQueued(cause);
    for (const map of this.#maps) map.cancel(cause);
    for (const controller of this.#controllers) controller.abort(cause);
    this.#checkIdle();
  }

  /** Resolves to the unobserved failures as soon as nothing runs and nothing is queued. */
  async join(options: WaitOptions | undefined): Promise<TakenFailures> {
    const limits = readWaitOptions(options);
    throwIfAborted(limits);
    return this.#isIdle() ? this.failures.take() : await this.#joiners.wait(new Waiter(this.#joining), limits);
  }

  /** Whether a call of `join` waits. */
  get isJoined(): boolean {
    return this.#joiners.size > 0;
  }

  #signal(): AbortSignal {
    return (this.#cancelled ??= new AbortController()).signal;
  }

  #isIdle(): boolean {
    return this.slots.active === 0 && this.slots.waiting === 0 && this.#maps.size === 0;
  }

  #checkIdle(): void {
    if (this.#joiners.size === 0 || !this.#isIdle()) return;
    // Taken by the first call that is served: one whose signal has aborted takes none along.
    let failures: TakenFailures | undefined;
    for (const joiner of this.#joiners.takeAll()) grant(joiner, failures ??= this.failures.take());
  }
}

/** Aborts `controller` when `signal` aborts. */
function linked(signal: AbortSignal, controller: AbortController): Cancellation {
  return onCancel({ signal }, () => controller.abort(reasonOf(signal)));
}
