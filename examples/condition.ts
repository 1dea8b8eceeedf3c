/** A bounded buffer: producers wait while it is full, consumers while it is empty. */
import { Condition, Lock } from "@interlock/interlock";

export class Buffer<T> {
  // 0 <= #items.length <= #size
  readonly #items: T[] = [];
  readonly #size: number;
  readonly #lock = new Lock();
  readonly #notEmpty = new Condition(this.#lock);
  readonly #notFull = new Condition(this.#lock);

  constructor(size: number) {
    this.#size = size;
  }

  get length(): number {
    return this.#items.length;
  }

  async put(item: T): Promise<void> {
    using _ = await this.#lock.acquire();
    await this.#notFull.waitFor(() => this.#items.length < this.#size);
    this.#items.push(item);
    this.#notEmpty.notify();
  }

  async take(): Promise<T> {
    using _ = await this.#lock.acquire();
    await this.#notEmpty.waitFor(() => this.#items.length > 0);
    this.#notFull.notify();
    return this.#items.shift()!;
  }
}

export async function main(print: (line: string) => void = console.log) {
  const items = Array.from({ length: 20 }, (_, i) => i);
  const plain: number[] = [];
  const missed = items.map(() => plain.shift()).filter((item) => item === undefined);
  print(`an array: a consumer that comes too early misses ${missed.length} of 20`);

  const buffer = new Buffer<number>(3);
  let fullest = 0;
  const taken = Promise.all(items.map(() => buffer.take()));
  for (const item of items) {
    await buffer.put(item);
    fullest = Math.max(fullest, buffer.length);
  }
  const inOrder = (await taken).every((item, i) => item === i);
  print(`a buffer: nothing missed, in order: ${inOrder}, never more than 3 inside: ${fullest <= 3}`);
}

if (import.meta.main) await main();
