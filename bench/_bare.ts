/**
 * The least that hands out holds in order: a promise, a guard and a ring that is large enough. No options, no errors, no
 * cancellation. The distance to a complete lock is the room for improvement.
 */
const SIZE = 2 ** 14;

class BareGuard {
  resolve!: (guard: BareGuard) => void;
  #from: BareSemaphore | undefined;

  constructor(from: BareSemaphore) {
    this.#from = from;
  }

  release(): void {
    this.#from?.next();
    this.#from = undefined;
  }
}

export class BareSemaphore {
  #value: number;
  readonly #ring: (BareGuard | undefined)[] = new Array(SIZE).fill(undefined);
  #head = 0;
  #length = 0;

  constructor(value: number) {
    this.#value = value;
  }

  acquire(): Promise<BareGuard> {
    const guard = new BareGuard(this);
    if (this.#value > 0) {
      this.#value--;
      return Promise.resolve(guard);
    }
    const granted = new Promise<BareGuard>((resolve) => guard.resolve = resolve);
    this.#ring[(this.#head + this.#length++) & (SIZE - 1)] = guard;
    return granted;
  }

  next(): void {
    const guard = this.#ring[this.#head];
    if (guard === undefined) return void this.#value++;
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (SIZE - 1);
    this.#length--;
    guard.resolve(guard);
  }
}
