/**
 * Items, first in, first out, in an array. Used by the benchmarks, too.
 *
 * @module
 */

/** The slots of removed items that are kept in any case. */
const SPARE = 16;

export class Items<T> {
  // The items are in the slots from #first on. #first <= size, or #first <= SPARE.
  slots: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.slots.length - this.#first;
  }

  /** The first item, which stays; undefined if there is none. */
  get first(): T | undefined {
    return this.slots[this.#first];
  }

  push(item: T): void {
    this.slots.push(item);
  }

  /** Removes the first item; only if there is one. */
  shift(): T {
    const item = this.slots[this.#first] as T;
    this.slots[this.#first++] = undefined;
    if (this.#first > SPARE && this.#first > this.size) { // `Array.shift` for each would cost O(n)
      this.slots = this.slots.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
