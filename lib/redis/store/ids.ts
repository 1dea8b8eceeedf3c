/**
 * The ids of one client's calls: its name, a secret, and a number. Invariants: no id is given twice; the secret is in
 * no channel's name, so that knowing a channel is not enough to write a message that a waiter believes.
 *
 * @module
 */
import { ID_LENGTH, PROCESS_LENGTH } from "../scripts/script.ts";

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Characters of the secret: one guess per microsecond would need a month. */
const SECRET_LENGTH = 8;

/** Maximum number of ids with one secret. */
const MOST_PER_SECRET = LETTERS.length ** (ID_LENGTH - PROCESS_LENGTH - SECRET_LENGTH);

export class Ids {
  readonly process: string = randomName(PROCESS_LENGTH);
  #secret = randomName(SECRET_LENGTH);
  #count = 0;

  /** Returns a fresh id of {@linkcode ID_LENGTH} characters without separators. */
  next(): string {
    if (this.#count === MOST_PER_SECRET) {
      this.#secret = randomName(SECRET_LENGTH);
      this.#count = 0;
    }
    const count = (this.#count++).toString(36).padStart(ID_LENGTH - PROCESS_LENGTH - SECRET_LENGTH, "0");
    return this.process + this.#secret + count;
  }
}

function randomName(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  // 256 is not a multiple of 36: the first letters are slightly more frequent, which costs less than a bit.
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
}
