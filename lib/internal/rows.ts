/**
 * Spans of time in as few rows as they need, so that none overlap in a row.
 *
 * @module
 */
export class Rows {
  /** For each row: when its last span ends. */
  readonly #until: number[] = [];

  /** The number of rows. */
  get size(): number {
    return this.#until.length;
  }

  /** The row of a span: the first that is free by then. Spans come in the order of their beginnings. */
  place(from: number, to: number): number {
    const free = this.#until.findIndex((until) => until <= from);
    const row = free < 0 ? this.#until.length : free;
    this.#until[row] = to;
    return row;
  }
}
