/**
 * The source of a map: an iterable or an async iterable, opened once and asked for one item at a time. As in
 * `for await`, it is closed at most once, and only before its own end.
 *
 * @module
 */
import { checkNotPromise, isThenable, must } from "../internal/check.ts";

/** A source of items for {@linkcode Pool.map}. Promises in a synchronous source are awaited. */
export type MapSource<T> = Iterable<T | PromiseLike<T>> | AsyncIterable<T>;

/** Throws unless `value` is iterable. */
export function checkSource(value: unknown): void {
  checkNotPromise(value, "source");
  const source = value as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  const iterate = source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator];
  must(typeof iterate === "function", "source", "be an iterable or async iterable", value);
}

export class Source<T> {
  // At most one of `isOpen` and `isOwing` is true. hasItem implies isOpen.
  /** Whether it has to be closed: it has neither ended nor failed. */
  isOpen = true;
  /** An item was requested and has not arrived. */
  isOwing = false;
  /** An item has arrived and was not taken. */
  hasItem = false;
  readonly #isAsync: boolean;
  #item: T | PromiseLike<T> | undefined = undefined;
  readonly #iterator: Iterator<T | PromiseLike<T>> | AsyncIterator<T>;

  constructor(given: MapSource<T>) {
    const source = given as Partial<AsyncIterable<T>> & Iterable<T | PromiseLike<T>>;
    const iterator = source[Symbol.asyncIterator]?.();
    this.#isAsync = iterator !== undefined;
    this.#iterator = iterator ?? source[Symbol.iterator]();
  }

  /** Whether it can work on an item while no function can take it. */
  get canAskAhead(): boolean {
    return this.#isAsync && !this.hasItem;
  }

  /** Moves on to the next item or the end. Returns a promise if the caller has to wait for it. */
  ask(): Promise<void> | undefined {
    this.isOpen = false; // unless an item comes
    const step = this.#iterator.next();
    return isThenable(step) ? this.#later(step) : this.#accept(step);
  }

  /** Takes the item that has arrived. */
  take(): T {
    const item = this.#item as T;
    this.#item = undefined;
    this.hasItem = false;
    return item;
  }

  async #later(step: PromiseLike<IteratorResult<T, unknown>>): Promise<void> {
    this.isOwing = true;
    try {
      return this.#accept(await step);
    } finally {
      this.isOwing = false;
    }
  }

  /** Reads each member once, because members may be getters. */
  #accept(step: IteratorResult<T | PromiseLike<T>, unknown>): Promise<void> | undefined {
    must(Object(step) === step, "the next of source", "return an object", step);
    if (step.done) return undefined;
    const item = step.value as T | PromiseLike<T>;
    this.isOpen = true;
    if (!this.#isAsync && isThenable(item)) return this.#awaited(item);
    this.#item = item;
    this.hasItem = true;
    return undefined;
  }

  /** A synchronous source stays open when a promise in it is rejected. */
  async #awaited(item: PromiseLike<T>): Promise<void> {
    this.#item = await item;
    this.hasItem = true;
  }

  /** Closes it, unless it has ended. Called once. */
  async close(): Promise<void> {
    if (this.isOpen || this.isOwing) await this.#iterator.return?.();
  }
}
