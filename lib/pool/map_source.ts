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

/**
 * - "open": it can be asked for an item.
 * - "owing": it was asked and has not answered.
 * - "full": an item has arrived and was not taken.
 * - "over": it has ended or failed, so it must not be closed.
 */
type SourceState = "open" | "owing" | "full" | "over";

export class Source<T> {
  state: SourceState = "open";
  readonly #isAsync: boolean;
  #item: T | PromiseLike<T> | undefined;
  readonly #iterator: Iterator<T | PromiseLike<T>> | AsyncIterator<T>;

  constructor(given: MapSource<T>) {
    const source = given as Partial<AsyncIterable<T>> & Iterable<T | PromiseLike<T>>;
    const iterator = source[Symbol.asyncIterator]?.();
    this.#isAsync = iterator !== undefined;
    this.#iterator = iterator ?? source[Symbol.iterator]();
  }

  /** Whether it can work on an item while no function can take it. */
  get canAskAhead(): boolean {
    return this.#isAsync && this.state === "open";
  }

  /** Moves on to the next item or the end. Returns a promise if the caller has to wait for it. */
  ask(): Promise<void> | undefined {
    this.state = "over"; // unless an item comes
    const result = this.#iterator.next();
    return isThenable(result) ? this.#acceptLater(result) : this.#accept(result);
  }

  /** Takes the item that has arrived. */
  take(): T {
    const item = this.#item as T;
    this.#item = undefined;
    this.state = "open";
    return item;
  }

  async #acceptLater(pending: PromiseLike<IteratorResult<T, unknown>>): Promise<void> {
    this.state = "owing";
    let result;
    try {
      result = await pending;
    } finally {
      this.state = "over"; // unless an item has come
    }
    return this.#accept(result);
  }

  /** Stores the item of a result. Reads each member once, because members may be getters. */
  #accept(result: IteratorResult<T | PromiseLike<T>, unknown>): Promise<void> | undefined {
    // must() is called only to throw, because this runs for each item.
    if (Object(result) !== result) must(false, "the next of source", "return an object", result);
    if (result.done) return undefined;
    const item = result.value as T | PromiseLike<T>;
    if (!this.#isAsync && isThenable(item)) return this.#acceptPromised(item);
    this.#item = item;
    this.state = "full";
    return undefined;
  }

  /** A synchronous source stays open when a promise in it is rejected. */
  async #acceptPromised(item: PromiseLike<T>): Promise<void> {
    this.state = "open";
    this.#item = await item;
    this.state = "full";
  }

  /** Closes it, unless it has ended. Called once. */
  async close(): Promise<void> {
    if (this.state !== "over") await this.#iterator.return?.();
  }
}
