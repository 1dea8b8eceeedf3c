/**
 * Follows the promise of one item of a map at a time. Workers are used again, which saves two closures for each item.
 *
 * @module
 */
import { follow } from "../internal/follow.ts";
import type { ResultNode } from "./map_results.ts";
import type { SlotCall } from "./lanes.ts";

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

  follow(result: PromiseLike<R>): void {
    follow(result, this.#onFulfilled, this.#onRejected);
  }
}
