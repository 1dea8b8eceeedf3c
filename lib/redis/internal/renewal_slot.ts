/**
 * The commands that set the end of one lease, one at a time: the answers of two in flight could be taken in the wrong
 * order. Invariant: `busy` from `begin()` to `end()`.
 *
 * @module
 */

export class RenewalSlot {
  #free: Promise<void> | undefined;
  #end: () => void = () => {};

  get busy(): boolean {
    return this.#free !== undefined;
  }

  begin(): void {
    this.#free = new Promise((resolve) => this.#end = resolve);
  }

  end(): void {
    this.#free = undefined;
    this.#end();
  }

  /** Resolves as soon as no command is in flight; then `busy` is false until the caller's next `await`. */
  async whenFree(): Promise<void> {
    while (this.#free !== undefined) await this.#free;
  }
}
