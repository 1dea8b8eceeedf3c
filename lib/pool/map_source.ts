/**
 * The source of a map: an iterable or an async iterable, opened once, asked for one item at a time, closed at most
 * once and only before its own end, as `for await` does it.
 *
 * @module
 */
import { isThenable, must } from "../internal/check.ts";

/** A source of items for {@linkcode Pool.map}. The promises in a synchronous one are awaited. */
export type MapSource<T> = Iterable<T | PromiseLike<T>> | AsyncIterable<T>;

/** Something with an iterator. */
export function checkSource(value: unknown): void {
  const source = value as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  const iterate = source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator];
  must(typeof iterate === "function", "source", "be an iterable or async iterable", value);
}

export class Source<T> {
  /** It has ended or failed, so there is nothing to close. */
  done = false;
  /** It was asked for an item that has not come yet. */
  pending = false;
  /** The last item. */
  value: T | PromiseLike<T> | undefined = undefined;
  readonly #iterator: Iterator<T | PromiseLike<T>> | AsyncIterator<T>;

  constructor(given: MapSource<T>) {
    const source = given as Partial<AsyncIterable<T>> & Iterable<T | PromiseLike<T>>;
    this.#iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
  }

  /** Moves on to the next item. Returns a promise if the item has to be waited for. */
  next(): Promise<void> | undefined {
    this.done = true; // unless an item comes
    const step = this.#iterator.next();
    if (isThenable(step)) return this.#later(step);
    this.#take(step);
    return !this.done && isThenable(this.value) ? this.#awaited(this.value) : undefined;
  }

  async #later(step: PromiseLike<IteratorResult<T, unknown>>): Promise<void> {
    this.done = false;
    this.pending = true;
    try {
      this.#take(await step);
    } catch (error) {
      this.done = true;
      throw error;
    } finally {
      this.pending = false;
    }
  }

  /** Reads each member once: they may be getters. */
  #take(step: IteratorResult<T | PromiseLike<T>, unknown>): void {
    must(Object(step) === step, "the next of source", "return an object", step);
    const done = Boolean(step.done);
    this.value = done ? undefined : step.value as T | PromiseLike<T>;
    this.done = done;
  }

  /** A synchronous source stays open when a promise in it is rejected. */
  async #awaited(value: PromiseLike<T>): Promise<void> {
    this.value = await value;
  }

  /** Closes it, unless it has ended. */
  async close(): Promise<void> {
    if (this.done) return;
    this.done = true;
    await this.#iterator.return?.();
  }
}
