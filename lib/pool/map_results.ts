/**
 * The results of a map between those who make them and those who read them: in the order of the items, or as they come.
 * A slot that is not filled yet holds up those behind it.
 *
 * @module
 */
import { WaitQueue } from "../internal/wait_queue.ts";
import { describe, grant, PlainWaiter, reject } from "../internal/waiter.ts";

/** What reading gives. */
export type Read<R> = IteratorResult<R, undefined>;

/** Where one result goes. */
export interface Slot<R> {
  value: R | undefined;
  filled: boolean;
  next: Slot<R> | undefined;
}

const READING = describe(undefined, "read results");

export class Results<R> {
  // #readers.size > 0 implies that the first slot is not filled
  #first: Slot<R> | undefined;
  #last: Slot<R> | undefined;
  #discarded = false;
  readonly #readers = new WaitQueue<Read<R>>();
  readonly #onRead: () => void;

  /** @param onRead Called for each result that is read. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  /** Reserves the next slot in order. */
  reserve(): Slot<R> {
    const slot: Slot<R> = { value: undefined, filled: false, next: undefined };
    if (this.#last === undefined) this.#first = slot;
    else this.#last.next = slot;
    return this.#last = slot;
  }

  fill(slot: Slot<R>, value: R): void {
    if (this.#discarded) return;
    slot.value = value;
    slot.filled = true;
    while (this.#readers.size > 0 && this.#first?.filled) this.#readers.wakeOne(this.#shift(this.#first));
  }

  /** The first result, if it is there. */
  tryRead(): Read<R> | undefined {
    return this.#first?.filled ? this.#shift(this.#first) : undefined;
  }

  /** Waits for the first result. */
  read(): Promise<Read<R>> {
    return this.#readers.wait(new PlainWaiter(READING));
  }

  /** No more results come: tells who waits, the first one of them the error if there is one. Says whether it was told. */
  end(end: { readonly error: unknown } | undefined): boolean {
    let untold = end;
    this.#readers.drainWith((reader) => {
      if (untold === undefined) return grant(reader, { value: undefined, done: true });
      reject(reader, untold.error);
      untold = undefined;
    });
    return untold !== end;
  }

  /** Nobody is going to read what is there, nor what comes. */
  discard(): void {
    this.#discarded = true;
    this.#first = this.#last = undefined;
  }

  #shift(slot: Slot<R>): Read<R> {
    this.#first = slot.next;
    if (slot.next === undefined) this.#last = undefined;
    this.#onRead();
    return { value: slot.value as R, done: false };
  }
}
