/**
 * Places spans of time in as few rows as possible, without overlap in a row.
 *
 * @module
 */
export class Rows {
  /** The end of the last span of each row. */
  readonly #until: number[] = [];

  /** The number of rows. */
  get size(): number {
    return this.#until.length;
  }

  /** Returns the first row that is free for a span. Spans must come in the order of their beginnings. */
  place(from: number, to: number): number {
    const free = this.#until.findIndex((until) => until <= from);
    const row = free < 0 ? this.#until.length : free;
    this.#until[row] = to;
    return row;
  }
}
