/**
 * Data kept in this process for each key, for as long as it matters.
 *
 * @module
 */

/** Data by its key. Invariant: expired data is never used again, and is at most half of all data, or 100 entries. */
export class MemoryData<D extends { readonly isOver: boolean }> extends Map<string, D> {
  /** The size at which expired data is dropped. */
  #sweepAt = 100;

  of(key: string, make: () => D): D {
    const kept = this.get(key);
    if (kept !== undefined && !kept.isOver) return kept;
    if (this.size >= this.#sweepAt) this.#sweep();
    const made = make();
    this.set(key, made);
    return made;
  }

  #sweep(): void {
    for (const [key, { isOver }] of this) {
      if (isOver) this.delete(key);
    }
    this.#sweepAt = Math.max(100, this.size * 2);
  }
}
