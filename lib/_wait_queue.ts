/**
 * The one line that everything local waits in, first come first served.
 *
 * A ring of places. Who gives up is marked in place, O(1), and passed over later; the marked never outnumber the living
 * by more than a constant, so memory is bounded by who really waits. Leaving the line and settling is one synchronous
 * step: a waiter is granted or has given up, never both.
 *
 * @module
 */
import { Exit, timedOut } from "./_exit.ts";
import type { WaitOptions } from "./types.ts";

/** What stands in a line. A guard is its own place, which saves an object for each acquisition. */
export interface Waiter<T> {
  /** What it waits to do, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly act: string;
  /** Settles what waits; undefined exactly while it is in no line. */
  resolve: ((value: T) => void) | undefined;
  /** How it gives up, while it may. */
  exit: Exit | undefined;
}

/** A place in line for those who get no guard. */
export class Place<T> implements Waiter<T> {
  readonly act: string;
  resolve: ((value: T) => void) | undefined = undefined;
  exit: Exit | undefined = undefined;

  constructor(act: string) {
    this.act = act;
  }
}

/** Lets go who was just taken out of a line. */
export function settle<T>(waiter: Waiter<T>, value: T): void {
  const resolve = waiter.resolve!;
  waiter.resolve = undefined;
  resolve(value);
}

const SMALLEST_RING = 8;
const LARGE_RING = 1024;

/** A line of `W`, each of whom waits for a `T`. */
export class WaitQueue<T, W extends Waiter<T> = Waiter<T>> {
  // #ring.length is 0 or a power of two; of the #used slots from #head on, #gaps hold some who gave up.
  #ring: (W | undefined)[] = NO_SLOTS;
  #head = 0;
  #used = 0;
  #gaps = 0;
  readonly #onGone: (() => void) | undefined;

  /** @param onGone Called once after one or several gave up: those behind them may fit now. */
  constructor(onGone?: () => void) {
    this.#onGone = onGone;
  }

  /** How many wait. */
  get size(): number {
    return this.#used - this.#gaps;
  }

  /** How much room the line takes up, gaps included. */
  get slots(): number {
    return this.#ring.length;
  }

  /** Who waits, in order, by a walk along the line. */
  living(): W[] {
    const waiters: W[] = [];
    for (let i = 0; i < this.#used; i++) {
      const waiter = this.#ring[(this.#head + i) & (this.#ring.length - 1)]!;
      if (waiter.resolve !== undefined) waiters.push(waiter);
    }
    return waiters;
  }

  /** Joins the end of the line. */
  wait(waiter: W, options?: WaitOptions): Promise<T> {
    if (options !== undefined) {
      return new Promise((resolve, reject) => this.join(waiter, resolve, reject, options));
    }
    // The function given to the promise does nothing that could throw, so engines need not make a `reject` for it.
    const granted = new Promise<T>((resolve) => waiter.resolve = resolve);
    this.#push(waiter);
    return granted;
  }

  /** The same for those who do more on being let go than to settle a promise. Options are checked by now. */
  join(waiter: W, resolve: (value: T) => void, reject: (reason: unknown) => void, options?: WaitOptions): void {
    if (options !== undefined) {
      if (options.timeout === 0) return reject(timedOut(waiter.act, 0));
      waiter.exit = new Exit(this, waiter, reject, options);
    }
    waiter.resolve = resolve;
    this.#push(waiter);
  }

  /** Who is next. It stays in line. */
  peek(): W | undefined {
    while (this.#used > 0) {
      const waiter = this.#ring[this.#head]!;
      if (waiter.resolve === undefined) {
        this.#dropHead();
        this.#gaps--;
      } else if (waiter.exit === undefined || !waiter.exit.leaveIfAborted()) return waiter;
    }
    return undefined;
  }

  /** Takes out who is next. The caller settles it in the same synchronous step. */
  take(): W | undefined {
    const waiter = this.peek();
    if (waiter !== undefined) this.shift(waiter);
    return waiter;
  }

  /** The same for whom {@linkcode peek} has just returned. */
  shift(waiter: W): void {
    this.#dropHead();
    waiter.exit?.disarm();
  }

  /** Lets the next one go; says who that was. */
  wakeOne(value: T): W | undefined {
    const waiter = this.take();
    if (waiter !== undefined) settle(waiter, value);
    return waiter;
  }

  /** Lets everybody go who waits now, in order. */
  wakeAll(value: T): void {
    for (const waiter of this.drain()) settle(waiter, value);
  }

  /** Takes out everybody, in order. The caller settles them all in the same synchronous step. */
  drain(): W[] {
    const waiters = this.living();
    this.#ring = NO_SLOTS;
    this.#head = this.#used = this.#gaps = 0;
    for (const waiter of waiters) waiter.exit?.disarm();
    return waiters;
  }

  /** Takes out one that leaves without being let go. It keeps its slot, until such slots outnumber the rest. */
  drop(waiter: W): void {
    waiter.exit?.disarm();
    waiter.resolve = undefined;
    this.#gaps++;
    if (this.#gaps > this.size + SMALLEST_RING) this.#relay();
  }

  /** All who give up now are out. */
  gone(): void {
    this.#onGone?.();
  }

  #push(waiter: W): void {
    if (this.#used === this.#ring.length) this.#relay();
    this.#ring[(this.#head + this.#used++) & (this.#ring.length - 1)] = waiter;
  }

  #dropHead(): void {
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    // A line that was long once gives its memory back.
    if (--this.#used === 0 && this.#ring.length >= LARGE_RING) this.#ring = NO_SLOTS;
  }

  /** Lays those who wait out anew, in a ring that as many again fit into, so that the next time is far away. */
  #relay(): void {
    const waiters = this.living();
    let length = SMALLEST_RING;
    while (length < 2 * waiters.length) length *= 2;
    const ring: (W | undefined)[] = new Array(length).fill(undefined);
    waiters.forEach((waiter, i) => ring[i] = waiter);
    this.#ring = ring;
    this.#head = this.#gaps = 0;
    this.#used = waiters.length;
  }
}

/** Shared by all empty lines, and never written to. */
const NO_SLOTS: never[] = [];
