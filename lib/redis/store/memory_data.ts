/**
 * Data kept in this process for each key, for as long as it matters.
 *
 * @module
 */

/** Data by its key. Invariant: expired data is never used again, and is at most half of all data, or 100 entries. */
export class MemoryData<D extends { readonly isOver: boolean }> extends Map<string, D> {
  /** The size at which expired data is dropped. */
  #sweepAt = 100;

  /** Returns the data of a key, made anew if there is none or it has expired. */
  of(key: string, make: () => D): D {
    const present = this.get(key);
    if (present !== undefined && !present.isOver) return present;
    if (this.size >= this.#sweepAt) this.#sweep();
    const fresh = make();
    this.set(key, fresh);
    return fresh;
  }

  #sweep(): void {
    for (const [key, { isOver }] of this) {
      if (isOver) this.delete(key);
    }
    this.#sweepAt = Math.max(100, this.size * 2);
  }
}
