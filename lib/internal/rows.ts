/**
 * Places spans of time in as few rows as possible, without overlap in a row.
 *
 * @module
 */
export class RowPacker {
  /** The end of the last span of each row. */
  readonly #ends: number[] = [];

  /** The number of rows. */
  get size(): number {
    return this.#ends.length;
  }

  /** Returns the first row that is free for a span. Spans must come in the order of their beginnings. */
  place(from: number, to: number): number {
    const freeRow = this.#ends.findIndex((end) => end <= from);
    const row = freeRow < 0 ? this.#ends.length : freeRow;
    this.#ends[row] = to;
    return row;
  }
}
