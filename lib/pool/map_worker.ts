/**
 * Follows the promise of one item of a map at a time. Workers are used again, which saves two closures for each item.
 *
 * @module
 */
import type { ResultNode } from "./map_results.ts";
import type { SlotCall } from "./lanes.ts";

// Both of one kind, also if a library replaces the global Promise later (zone.js, bluebird).
const Native = Promise;
const { then } = Native.prototype;

/** The puller of a worker. */
export interface WorkerOwner<R> {
  onFulfilled(worker: Worker<R>, value: R): void;
  onRejected(worker: Worker<R>, error: unknown): void;
}

export class Worker<R> {
  /** Of the item: its slot, its index, and the place of its result. */
  call: SlotCall | undefined;
  index = 0;
  node: ResultNode<R> | undefined;
  readonly #onFulfilled: (value: R) => void;
  readonly #onRejected: (error: unknown) => void;

  constructor(owner: WorkerOwner<R>) {
    this.#onFulfilled = (value) => owner.onFulfilled(this, value);
    this.#onRejected = (error) => owner.onRejected(this, error);
  }

  /** By the engine's own `then`, as `await` does it: one callback is called, once, for every kind of promise. */
  follow(result: PromiseLike<R>): void {
    then.call(Native.resolve(result), this.#onFulfilled as (value: unknown) => void, this.#onRejected);
  }
}
