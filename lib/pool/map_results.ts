/**
 * The results of a map between the functions that return them and the reader: in the order of the items, or as they are
 * ready. In order, an unready result holds up all later results.
 *
 * @module
 */
import { Items } from "../internal/items.ts";
import { Rejection, type Resolve } from "../internal/wait_queue.ts";

/** The outcome of one read. */
export type Read<R> = IteratorResult<R, undefined>;

/** One result. */
export interface ResultNode<R> {
  readonly index: number;
  value: R | undefined;
  isReady: boolean;
}

export class Results<R> {
  // Reads wait only while the first result is not ready, or results are collected. While they are, there are no nodes.
  /** The number of results ahead of the reader, ready or pending. */
  ahead = 0;
  /** Pending and ready results in the order of the items, or the ready ones in the order in which they became so. */
  nodes = new Items<ResultNode<R>>();
  /** The results by index, if reads get none but only the end. */
  collected: R[] | undefined;
  readonly isOrdered: boolean;
  /** The reads that wait. Few: a loop waits for one at a time. */
  #readers: Resolve<Read<R>>[] = [];

  constructor(isOrdered: boolean) {
    this.isOrdered = isOrdered;
  }

  /** Whether a read waits. */
  get isAwaited(): boolean {
    return this.#readers.length > 0;
  }

  /** Collects all results for `takeAll`. */
  collect(): void {
    if (this.collected !== undefined) return;
    const ready: R[] = [];
    while (this.nodes.size > 0) {
      const { index, value, isReady } = this.nodes.shift();
      if (isReady) ready[index] = value as R;
    }
    this.collected = ready;
  }

  /** Adds a pending result. Returns its place, or undefined if results are collected. */
  add(index: number): ResultNode<R> | undefined {
    this.ahead++;
    if (this.collected !== undefined) return undefined;
    const node: ResultNode<R> = { index, value: undefined, isReady: false };
    if (this.isOrdered) this.nodes.push(node);
    return node;
  }

  /** Stores a result that is ready. */
  fill(node: ResultNode<R> | undefined, index: number, value: R): void {
    if (node === undefined || this.collected !== undefined) {
      this.collected![index] = value;
      return;
    }
    node.value = value;
    node.isReady = true;
    if (!this.isOrdered) this.nodes.push(node);
    for (let read; this.#readers.length > 0 && (read = this.tryRead()) !== undefined;) this.#readers.shift()!(read);
  }

  /** Removes and returns the first result if it is ready. */
  tryRead(): Read<R> | undefined {
    if (!this.nodes.first?.isReady) return undefined;
    this.ahead--;
    return { value: this.nodes.shift().value as R, done: false };
  }

  /** Waits for the first result. */
  read(): Promise<Read<R>> {
    return new Promise((resolve) => {
      this.#readers.push(resolve);
    });
  }

  /** Takes all collected results in the order of the items, once all are ready. */
  takeAll(): R[] {
    const collected = this.collected!;
    this.discard();
    return collected.length === this.ahead ? collected : collected.flat(0) as R[]; // without the holes of earlier reads
  }

  /**
   * Ends all waiting reads, because no more results come. The first read rejects with the error, if any. Returns
   * whether a read got the error.
   */
  end(end: { readonly error: unknown } | undefined): boolean {
    const [first, ...others] = this.#readers;
    if (first === undefined) return false;
    this.#readers = [];
    first(end === undefined ? { value: undefined, done: true } : new Rejection(end.error));
    for (const reader of others) reader({ value: undefined, done: true });
    return end !== undefined;
  }

  /** Drops all results: none will be read. */
  discard(): void {
    this.nodes = new Items();
    this.collected = [];
  }
}
