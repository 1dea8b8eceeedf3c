/**
 * What the tasks, runs and maps of one pool share: its places, the line for them, who is at work, and the failures that
 * nobody took.
 *
 * @module
 */
import { readWaitOptions } from "../internal/check.ts";
import { WaitQueue } from "../internal/wait_queue.ts";
import { describe, PlainWaiter, reject } from "../internal/waiter.ts";
import { ClosedError } from "../errors.ts";
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

const JOINING = describe(undefined, "join pool");

export class PoolState {
  // #line.size > 0 implies #active >= #limit, so nobody is in line while nothing runs. Cancelled implies closed.
  #limit: number;
  #active = 0;
  closed = false;
  readonly #line = new WaitQueue<void>();
  readonly #joiners = new WaitQueue<Failures>();
  readonly #cancelled = new AbortController();
  /** One for each function that runs on its own. */
  readonly #controllers = new Set<AbortController>();
  readonly #maps = new Set<MapInProgress>();
  /** By what failed. */
  readonly #failures = new Map<object, unknown>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
    this.#pump();
    for (const map of this.#maps) map.poke();
  }

  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** Throws for bad options, then for a closed pool, then for an aborted signal. */
  admit(act: string, options: WaitOptions | undefined): void {
    readWaitOptions(options);
    if (this.closed) throw new ClosedError(`Cannot ${act}: pool is closed`);
    if (options?.signal?.aborted) throw options.signal.reason;
  }

  /** Takes a place that is free. Who is in line goes first, but then there is none. */
  tryTake(): boolean {
    if (this.#active >= this.#limit) return false;
    this.#active++;
    return true;
  }

  /** Waits in line for a place. Options are checked by now. */
  wait(act: string, options: WaitOptions | undefined): Promise<void> {
    return this.#line.wait(new PlainWaiter(describe(undefined, act)), readWaitOptions(options));
  }

  /**
   * Who has a place begins to use it, with a controller of its `own` or with the pool's. What was cancelled between the
   * grant and this moment does not begin.
   */
  begin(own: boolean): AbortController {
    if (this.#cancelled.signal.aborted) {
      this.free();
      throw this.#cancelled.signal.reason;
    }
    if (!own) return this.#cancelled;
    const controller = new AbortController();
    this.#controllers.add(controller);
    return controller;
  }

  /** The other end of {@linkcode PoolState.begin}. */
  end(controller: AbortController): void {
    this.#controllers.delete(controller);
    this.free();
  }

  /** Gives a place back. */
  free(): void {
    this.#active--;
    this.#pump();
    this.#checkIdle();
  }

  beginMap(map: MapInProgress): void {
    this.#maps.add(map);
  }

  endMap(map: MapInProgress): void {
    this.#maps.delete(map);
    this.#checkIdle();
  }

  /** `owner` failed, and nobody has asked it how it ended. */
  fail(owner: object, error: unknown): void {
    this.#failures.set(owner, error);
  }

  /** Somebody has asked. */
  taken(owner: object): void {
    this.#failures.delete(owner);
  }

  /** Whether this is how something ends that was told to, by its own signal or with the whole pool. */
  isCancellation(error: unknown, signal: AbortSignal): boolean {
    return isCancellation(error, signal) || isCancellation(error, this.#cancelled.signal);
  }

  cancel(reason: unknown): void {
    if (this.#cancelled.signal.aborted) return; // the first reason stays
    this.closed = true;
    this.#cancelled.abort(reason);
    const cause = this.#cancelled.signal.reason; // never undefined
    this.#line.drainWith((waiter) => reject(waiter, cause));
    for (const map of this.#maps) map.cancel(cause);
    for (const controller of this.#controllers) controller.abort(cause);
  }

  /** What failed, told once, as soon as nothing is left to do. */
  async join(options: WaitOptions | undefined): Promise<Failures> {
    const limits = readWaitOptions(options);
    if (options?.signal?.aborted) throw options.signal.reason;
    return this.#idle ? this.#takeFailures() : await this.#joiners.wait(new PlainWaiter(JOINING), limits);
  }

  get #idle(): boolean {
    return this.#active === 0 && this.#maps.size === 0;
  }

  #pump(): void {
    while (this.#active < this.#limit && this.#line.wakeOne() !== undefined) this.#active++;
  }

  #checkIdle(): void {
    // Everybody who joined is told, or the failures stay for who joins next.
    if (this.#idle && this.#joiners.size > 0) this.#joiners.wakeAll(this.#takeFailures());
  }

  #takeFailures(): Failures {
    const failures = [...this.#failures.values()];
    this.#failures.clear();
    return failures;
  }
}

/** Whether who was told to stop has stopped for that: with the reason, or with an AbortError that names it as its cause. */
function isCancellation(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (error === signal.reason) return true;
  // As Node's own functions do.
  return error instanceof Error && error.name === "AbortError" && error.cause === signal.reason;
}
