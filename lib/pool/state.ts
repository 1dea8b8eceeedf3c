/**
 * The work of one pool: running functions, maps and unobserved failures.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { onCancel, reasonOf } from "../internal/cancellation.ts";
import {
  checkNumber,
  must,
  named,
  type QueueOptions,
  readWaitOptions,
  throwIfAborted,
  type WaitLimits,
} from "../internal/check.ts";
import { hook, isPlain } from "../internal/hook.ts";
import { isCancellation } from "../internal/is_cancellation.ts";
import { closedError, describe, grant, type WaitedFor, Waiter, WaitQueue } from "../internal/wait_queue.ts";
import type { Permits, StartQueue } from "../internal/start_queue.ts";
import { type TakenFailures, UnobservedFailures } from "../internal/unobserved.ts";
import { assertSoundSlots, type Call, SlotCall, Slots, type SlotUse } from "./slots.ts";
import type { TaskOptions } from "./types.ts";
import type { WaitOptions } from "../types.ts";

const NEXT_TURN: Promise<void> = /* @__PURE__ */ Promise.resolve();

/** A map as its pool sees it. */
export interface MapInProgress {
  /** Ends the map early because the pool is cancelled. */
  cancel(reason: unknown): void;
  /** Checks again whether there is room for more items. */
  poke(): void;
}

/** Private state for {@linkcode assertSoundPoolState}, a function rather than a method so that bundlers can drop it. */
let stateOf: (state: PoolState) => readonly [controllers: number, joiners: number];

export class PoolState {
  // Cancelled implies closed. Joiners imply that something runs, is queued or is read.
  closed = false;
  readonly name: string | undefined;
  readonly slots: Slots;
  readonly failures: UnobservedFailures = new UnobservedFailures(
    this,
    "await the pool's join(), or the result of each task",
    true,
  );
  /** The ways to use a slot. */
  readonly creating: SlotUse;
  readonly running: SlotUse;
  readonly mapping: SlotUse;
  readonly #joining: WaitedFor;
  readonly #joiners = new WaitQueue<TakenFailures>();
  /** Created on first use: Cloudflare Workers forbids it at module scope. */
  #cancelled: AbortController | undefined;
  /** One for each running function with a signal of its own. */
  readonly #controllers = new Set<AbortController>();
  readonly maps: Set<MapInProgress> = new Set<MapInProgress>();

  static {
    stateOf = (state) => [state.#controllers.size, state.#joiners.size];
  }

  constructor(limit: number, rate: StartQueue | undefined, { name, maxWaiting }: QueueOptions) {
    this.name = name;
    this.slots = new Slots(limit, rate, maxWaiting, () => this.#checkIdle());
    const use = (action: string, isMap = false): SlotUse => ({
      kind: "pool",
      name,
      action,
      group: this,
      waitsForRelease: () => this.slots.isFull,
      isMap,
    });
    this.creating = { ...use(name === undefined ? "create task" : "create task in pool"), isStart: true };
    this.running = use("run in pool");
    this.mapping = use("map in pool", true);
    this.#joining = describe("", "join pool", name);
  }

  setLimit(limit: number): void {
    this.slots.limit = limit;
    for (const map of this.maps) map.poke();
  }

  /** Throws if the pool is closed, and then if the signal of a call has aborted. */
  admit(use: WaitedFor, limits?: Pick<WaitLimits, "signal">): void {
    if (this.closed) throw closedError(use);
    throwIfAborted(limits);
  }

  get title(): string {
    return named("pool", this.name);
  }

  /**
   * Checks a call and takes its slot if one is free. Returns undefined for a call that has its slot and needs no
   * object: no observer sees it, and its function shares the pool's signal.
   */
  call(use: SlotUse, options: TaskOptions | undefined, needsOwn: boolean): Call | undefined {
    const { slots } = this;
    if (options !== undefined || needsOwn || slots.rate !== undefined) {
      const limits = readWaitOptions(options);
      const priority = options === undefined ? 0 : readPriority(options);
      const starts = readStarts(slots.rate, options);
      slots.rate?.waits.checkOpen(slots.rate.self);
      this.admit(use, limits);
      return new SlotCall(use, limits, priority, starts, needsOwn);
    }
    this.admit(use);
    if (!isPlain || !slots.isFree) return new Waiter(use);
    slots.active++;
    return undefined;
  }

  /**
   * Waits for the slot of a call. Undefined if the call has its slot; the caller must still wait a turn before calling
   * the function.
   */
  slot(call: Call | undefined): Promise<void> | undefined {
    return call === undefined || this.slots.tryTake(call) ? undefined : this.slots.wait(call);
  }

  /**
   * Returns the signal for the function of a call that has its slot: the pool's, unless the function needs its own or
   * the caller's signal has to reach it. Throws if the call was cancelled after the grant.
   */
  begin(call: Call | undefined): AbortSignal {
    const own = call instanceof SlotCall ? call : undefined;
    const signal = own?.limits?.signal;
    throwIfAborted({ signal });
    if (this.closed) throwIfAborted({ signal: this.#signal() });
    if (own === undefined || (!own.needsOwn && signal === undefined)) return this.#signal();
    const controller = own.controller = new AbortController();
    this.#controllers.add(controller);
    if (signal !== undefined) own.link = onCancel({ signal }, () => controller.abort(reasonOf(signal)));
    return controller.signal;
  }

  /** Calls `fn` in the slot of a call. */
  start<T>(call: Call | undefined, fn: (signal: AbortSignal) => T): T {
    const signal = this.begin(call);
    return call === undefined ? fn(signal) : callIn(call, fn, signal);
  }

  /**
   * The fast path, for a function without a signal. It uses `then`, which keeps 530 bytes per queued call where `await`
   * keeps 790 (Node 26); copying them takes most of the time of many calls.
   */
  apply<This, A extends unknown[], R>(fn: (this: This, ...args: A) => R, self: This, args: A): Promise<Awaited<R>> {
    try {
      const call = this.call(this.running, undefined, false);
      return (this.slot(call) ?? NEXT_TURN).then(async (): Promise<Awaited<R>> => {
        try {
          this.begin(call);
          return await (hook === undefined || call === undefined
            ? Reflect.apply(fn, self, args)
            : hook.run(call, () => Reflect.apply(fn, self, args)));
        } finally {
          this.end(call);
        }
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Frees the slot after the function of a call has ended or {@linkcode PoolState.begin} threw. */
  end(call: Call | undefined): void {
    if (call instanceof SlotCall && call.controller !== undefined) {
      this.#controllers.delete(call.controller);
      call.link?.end();
    }
    this.free(call);
  }

  free(call: Call | undefined): void {
    this.slots.free(call);
    if (this.#joiners.size > 0) this.#checkIdle();
  }

  endMap(map: MapInProgress): void {
    this.maps.delete(map);
    this.#checkIdle();
  }

  /** Whether `error` is due to an abort of the function's own signal or of the pool's. */
  isCancellation(error: unknown, signal: AbortSignal): boolean {
    return isCancellation(error, signal) || (this.#cancelled !== undefined && isCancellation(error, this.#signal()));
  }

  cancel(reason: unknown): void {
    const signal = this.#signal();
    if (signal.aborted) return; // the first reason stays
    this.closed = true;
    this.#cancelled!.abort(reason);
    const cause = reasonOf(signal);
    this.slots.rejectQueued(cause);
    for (const map of this.maps) map.cancel(cause);
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
    return this.slots.active === 0 && this.slots.waiting === 0 && this.maps.size === 0;
  }

  #checkIdle(): void {
    if (this.#joiners.size === 0 || !this.#isIdle()) return;
    // Taken by the first joiner that is served, so that an aborted joiner takes none.
    let failures: TakenFailures | undefined;
    for (const joiner of this.#joiners.takeAll()) grant(joiner, failures ??= this.failures.take());
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundPoolState(state: PoolState): void {
  const { slots, maps } = state;
  const [controllers, joiners] = stateOf(state);
  const isIdle = slots.active === 0 && slots.waiting === 0 && maps.size === 0;
  const isSound = controllers <= slots.active && (joiners === 0 || !isIdle);
  if (!isSound) throw new Error(`unsound pool: ${controllers} signals for ${slots.active} calls, ${joiners} joiners`);
  assertSoundSlots(slots);
}

/** Reads the option of a call. */
export function readPriority({ priority = 0 }: Pick<TaskOptions, "priority">): number {
  checkNumber(priority, "priority");
  must(Number.isFinite(priority), "priority", "be a finite number", priority, RangeError);
  return priority;
}

/** Returns the starts that a call takes; undefined without a rate. */
function readStarts(rate: StartQueue | undefined, options: TaskOptions | undefined): Permits | undefined {
  const permits = options?.permits;
  if (rate !== undefined) return rate.readPermits(permits);
  must(permits === undefined, "permits", "be left out in a pool without a rate", permits);
  return undefined;
}
