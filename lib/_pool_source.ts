/**
 * What a map pulls from: an iterable or an async iterable, opened once, asked for one item at a time, closed at most
 * once and only before its own end, as `for await` does it.
 *
 * @module
 */
import { isThenable, must } from "./_check.ts";

/** What {@linkcode Pool.map} can be given. The promises in a synchronous one are awaited. */
export type MapSource<T> = Iterable<T | PromiseLike<T>> | AsyncIterable<T>;

/** Something with an iterator. */
export function checkSource(value: unknown): void {
  const source = value as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  const iterate = source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator];
  must(typeof iterate === "function", "source", "be an iterable or async iterable", value);
}

export class Source<T> {
  /** It has come to its end or failed by itself, so there is nothing to close. */
  done = false;
  /** It was asked for an item and has not answered. */
  pending = false;
  readonly #iterator: Iterator<T | PromiseLike<T>> | AsyncIterator<T>;

  constructor(given: MapSource<T>) {
    const source = given as Partial<AsyncIterable<T>> & Iterable<T | PromiseLike<T>>;
    this.#iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
  }

  /** The next item, at once where it is there. */
  next(): IteratorResult<T, unknown> | Promise<IteratorResult<T, unknown>> {
    this.done = true; // unless it answers with an item
    const step = this.#iterator.next();
    if (isThenable(step)) return this.#later(step);
    this.done = step.done === true;
    return this.done || !isThenable(step.value) ? step as IteratorResult<T, unknown> : this.#awaited(step.value);
  }

  async #later(answer: PromiseLike<IteratorResult<T, unknown>>): Promise<IteratorResult<T, unknown>> {
    this.done = false;
    this.pending = true;
    try {
      const step = await answer;
      this.done = step.done === true;
      return step;
    } catch (error) {
      this.done = true;
      throw error;
    } finally {
      this.pending = false;
    }
  }

  /** A synchronous source stays open when a promise in it is rejected. */
  async #awaited(value: PromiseLike<T>): Promise<IteratorResult<T, unknown>> {
    return { value: await value, done: false };
  }

  /** Lets it clean up. */
  async close(): Promise<void> {
    if (this.done) return;
    this.done = true;
    await this.#iterator.return?.();
  }
}
