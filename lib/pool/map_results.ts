/**
 * The results of a map between the functions that return them and the reader: in the order of the items, or as they are
 * ready. In order, an unready result holds up all later results.
 *
 * @module
 */
import { describe, grant, reject, Waiter, WaitQueue, wakeFirst } from "../internal/wait_queue.ts";

/** The outcome of one read. */
export type Read<R> = IteratorResult<R, undefined>;

/** One result. */
export interface ResultNode<R> {
  readonly index: number;
  value: R | undefined;
  isReady: boolean;
  next: ResultNode<R> | undefined;
}

const READING = describe("", "read results");

/** Private state for {@linkcode assertSoundResults}, a function rather than a method so that bundlers can drop it. */
let stateOf: (
  results: Results<unknown>,
) => readonly [first: ResultNode<unknown> | undefined, isOrdered: boolean, readers: number, isWhole: boolean];

export class Results<R> {
  // #readers.size > 0 implies that the first result is not ready
  /** The number of results ahead of the reader, ready or pending. */
  ahead = 0;
  #first: ResultNode<R> | undefined;
  #last: ResultNode<R> | undefined;
  /** Collected results, from the index #end on. */
  #collected: R[] | undefined;
  #end = 0;
  #isDiscarded = false;
  readonly #isOrdered: boolean;
  readonly #readers = new WaitQueue<Read<R>>();

  static {
    stateOf = (results) => {
      const isWhole = results.#collected === undefined && !results.#isDiscarded;
      return [results.#first, results.#isOrdered, results.#readers.size, isWhole];
    };
  }

  constructor(isOrdered: boolean) {
    this.#isOrdered = isOrdered;
  }

  /** Collects all further results in an array instead of passing them to a reader. */
  collect(): void {
    this.#collected ??= [];
  }

  /** Adds a pending result. Returns its place, or undefined if results are collected. */
  add(index: number): ResultNode<R> | undefined {
    this.ahead++;
    if (this.#collected !== undefined) return undefined;
    this.#end = index + 1;
    const node: ResultNode<R> = { index, value: undefined, isReady: false, next: undefined };
    if (this.#isOrdered) this.#append(node);
    return node;
  }

  /** Stores a result that is ready. */
  fill(node: ResultNode<R> | undefined, index: number, value: R): void {
    if (this.#isDiscarded) return;
    if (node === undefined) {
      this.#collected![index - this.#end] = value;
      return;
    }
    node.value = value;
    node.isReady = true;
    if (!this.#isOrdered) this.#append(node);
    while (this.#readers.size > 0 && this.#first?.isReady) wakeFirst(this.#readers, 1, this.#shift(this.#first));
  }

  /** Returns the first result if it is ready. */
  tryRead(): Read<R> | undefined {
    return this.#first?.isReady ? this.#shift(this.#first) : undefined;
  }

  /** Waits for the first result. */
  read(): Promise<Read<R>> {
    return this.#readers.wait(new Waiter(READING));
  }

  /** Takes all results in the order of the items, once all are ready. */
  takeAll(): R[] {
    const nodes: ResultNode<R>[] = [];
    for (let node = this.#first; node !== undefined; node = node.next) nodes.push(node);
    if (!this.#isOrdered) nodes.sort((a, b) => a.index - b.index);
    const collected = this.#collected ?? [];
    this.discard();
    return nodes.length === 0 ? collected : [...nodes.map((node) => node.value as R), ...collected];
  }

  /**
   * Ends all waiting reads, because no more results come. The first read rejects with the error, if any. Returns
   * whether a read got the error.
   */
  end(end: { readonly error: unknown } | undefined): boolean {
    let pending = end;
    for (const reader of this.#readers.takeAll()) {
      if (pending === undefined) grant(reader, { value: undefined, done: true });
      else reject(reader, pending.error);
      pending = undefined;
    }
    return pending !== end;
  }

  /** Drops all results: none will be read. */
  discard(): void {
    this.#isDiscarded = true;
    this.#first = this.#last = undefined;
    this.#collected = this.#collected && [];
  }

  #append(node: ResultNode<R>): void {
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
  }

  #shift(node: ResultNode<R>): Read<R> {
    this.ahead--;
    this.#first = node.next;
    if (node.next === undefined) this.#last = undefined;
    node.next = undefined; // otherwise a garbage collector that has promoted the node keeps all later nodes
    return { value: node.value as R, done: false };
  }
}

/** Throws unless the invariants hold, while `running` functions make results; for tests. */
export function assertSoundResults(results: Results<unknown>, running: number): void {
  const [first, isOrdered, readers, isWhole] = stateOf(results);
  let nodes = 0;
  for (let node = first; node !== undefined; node = node.next) nodes++;
  const isSound = !isWhole || nodes + (isOrdered ? 0 : running) === results.ahead;
  if (!isSound || nodes > results.ahead) throw new Error(`unsound results: ${nodes} kept, ${results.ahead} ahead`);
  if (readers > 0 && first?.isReady) {
    throw new Error(`unsound results: ${readers} readers wait for a result that is ready`);
  }
}
