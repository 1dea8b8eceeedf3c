/**
 * The one line that everything local waits in, first come first served.
 *
 * Each in line knows who comes next; a ring was a little slower with up to a thousand in line, and quicker with ten
 * thousand. Who gives up is marked in place, O(1), and passed over later; the marked never outnumber the living by more
 * than a constant, so memory is bounded by who really waits. Leaving the line and settling is one synchronous step: a
 * waiter is granted or has given up, never both.
 *
 * @module
 */
import { Exit, timedOut } from "./cancellation.ts";
import type { WaitOptions } from "../types.ts";

/** What stands in a line. A guard is its own place, which saves an object for each acquisition. */
export interface Waiter<T> {
  /** What it waits to do, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly act: string;
  /** Settles what waits; undefined exactly while it waits in no line. */
  resolve: ((value: T | PromiseLike<T>) => void) | undefined;
  /** How it gives up, while it may. */
  exit: Exit | undefined;
  /** Who comes after it. */
  next: this | undefined;
}

/** A place in line for those who get no guard. */
export class Place<T> implements Waiter<T> {
  readonly act: string;
  resolve: ((value: T | PromiseLike<T>) => void) | undefined = undefined;
  exit: Exit | undefined = undefined;
  next: this | undefined = undefined;

  constructor(act: string) {
    this.act = act;
  }
}

/** Lets go who was just taken out of a line. */
export function settle<T>(waiter: Waiter<T>, value: T | PromiseLike<T>): void {
  const resolve = waiter.resolve!;
  waiter.resolve = undefined;
  resolve(value);
}

/** Sends away with an error who was just taken out of a line. */
export function refuse<T>(waiter: Waiter<T>, error: unknown): void {
  settle(waiter, Promise.reject(error));
}

/** How many more may be marked than wait. */
const SPARE = 32;

/** A line of `W`, each of whom waits for a `T`. */
export class WaitQueue<T, W extends Waiter<T> = Waiter<T>> {
  // From #head to #tail there are the #size who wait, and #gaps, who gave up. #head undefined implies both 0.
  #head: W | undefined = undefined;
  #tail: W | undefined = undefined;
  #size = 0;
  #gaps = 0;
  readonly #onGone: (() => void) | undefined;

  /** @param onGone Called once after one or several gave up: those behind them may fit now. */
  constructor(onGone?: () => void) {
    this.#onGone = onGone;
  }

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** How many places the line takes up, gaps included. */
  get length(): number {
    return this.#size + this.#gaps;
  }

  /** Who waits, in order, by a walk along the line. */
  living(): W[] {
    const waiters: W[] = [];
    for (let one = this.#head; one !== undefined; one = one.next) {
      if (one.resolve !== undefined) waiters.push(one);
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
  join(
    waiter: W,
    resolve: (value: T | PromiseLike<T>) => void,
    reject: (reason: unknown) => void,
    options?: WaitOptions,
  ): void {
    if (options !== undefined) {
      if (options.timeout === 0) return reject(timedOut(waiter.act, 0));
      waiter.exit = new Exit(this, waiter, reject, options);
    }
    waiter.resolve = resolve;
    this.#push(waiter);
  }

  /** Who is next. It stays in line. */
  peek(): W | undefined {
    for (let first = this.#head; first !== undefined; first = this.#head) {
      if (first.resolve === undefined) {
        this.#unlink(first);
        this.#gaps--;
      } else if (!first.exit?.leaveIfAborted()) return first;
    }
    return undefined;
  }

  /** Takes out who is next. The caller settles it in the same synchronous step. */
  take(): W | undefined {
    const first = this.peek();
    if (first !== undefined) this.shift(first);
    return first;
  }

  /** The same for whom {@linkcode peek} has just returned. */
  shift(first: W): void {
    this.#unlink(first);
    this.#size--;
    first.exit?.disarm();
  }

  /** Lets the next one go; says who that was. */
  wakeOne(value: T): W | undefined {
    const waiter = this.take();
    if (waiter !== undefined) settle(waiter, value);
    return waiter;
  }

  /** Lets everybody go who waits now, in order. */
  wakeAll(value: T): void {
    this.empty((waiter) => settle(waiter, value));
  }

  /** Takes out everybody who waits now, in order; `letGo` settles each of them. */
  empty(letGo: (waiter: W) => void): void {
    this.#restart((waiter) => {
      waiter.exit?.disarm();
      letGo(waiter);
    });
  }

  /** Takes out one that leaves without being let go. Its place stays, until such places outnumber the rest. */
  drop(waiter: W): void {
    waiter.exit?.disarm();
    waiter.resolve = undefined;
    this.#size--;
    if (++this.#gaps > this.#size + SPARE) this.#restart((one) => this.#push(one));
  }

  /** All who give up now are out. */
  gone(): void {
    this.#onGone?.();
  }

  #push(waiter: W): void {
    if (this.#head === undefined) this.#head = waiter;
    else this.#tail!.next = waiter;
    this.#tail = waiter;
    this.#size++;
  }

  /** What is out keeps nobody who is in line alive. */
  #unlink(first: W): void {
    this.#head = first.next;
    first.next = undefined;
  }

  /** Begins an empty line; each who waited in the old one is passed on. */
  #restart(passOn: (waiter: W) => void): void {
    let one = this.#head;
    this.#head = this.#tail = undefined;
    this.#size = this.#gaps = 0;
    while (one !== undefined) {
      const { next } = one;
      one.next = undefined;
      if (one.resolve !== undefined) passOn(one);
      one = next;
    }
  }
}
