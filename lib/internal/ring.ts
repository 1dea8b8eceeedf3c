/**
 * A first-in, first-out list of items.
 *
 * @module
 */

/** Minimum number of slots of a ring. */
const SMALLEST = 16;

/** The items in an array that doubles when it is full, and halves when three quarters of it are free. */
export class Ring<T> {
  // slots.length is a power of two; the items are in the `size` slots from `first` on, wrapping around.
  slots: (T | undefined)[] = new Array(SMALLEST);
  first = 0;
  size = 0;

  push(item: T): void {
    const { length } = this.slots;
    if (this.size === length) this.resize(2 * length);
    this.slots[(this.first + this.size++) & (this.slots.length - 1)] = item;
  }

  /** Removes the first item; only if there is one. */
  shift(): T {
    const { length } = this.slots;
    const item = this.slots[this.first] as T;
    this.slots[this.first] = undefined;
    this.first = (this.first + 1) & (length - 1);
    if (--this.size < length / 4 && length > SMALLEST) this.resize(length / 2);
    return item;
  }

  private resize(length: number): void {
    const slots = new Array<T | undefined>(length);
    for (let i = 0; i < this.size; i++) slots[i] = this.slots[(this.first + i) & (this.slots.length - 1)];
    this.slots = slots;
    this.first = 0;
  }
}

/** Throws if it keeps a removed item, or many more slots than it needs; for tests. */
export function assertSoundRing({ slots, size }: Ring<unknown>): void {
  const kept = slots.filter((item) => item !== undefined).length;
  const isSound = kept <= size && slots.length <= Math.max(SMALLEST, 4 * (size + 1));
  if (!isSound) throw new Error(`unsound ring: ${slots.length} slots keep ${kept} items for ${size}`);
}
