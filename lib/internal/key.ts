/**
 * One key of a keyed thing, for code that takes any Acquirable. It holds no entry: it may be kept or made anew.
 *
 * @module
 */
import { runHolding } from "./hold.ts";
import { setPlace } from "./place.ts";
import { show } from "./show.ts";
import { type Wrapped, wrapped } from "./wrap.ts";
import type { Acquirable, Guard, WaitOptions } from "../types.ts";

/** Something that hands out holds by key. */
interface Keyed<K, O> {
  readonly name: string | undefined;
  readonly closed: boolean;
  locked(key: K): boolean;
  waiting(key: K): number;
  acquire(key: K, options?: O): Promise<Guard>;
  tryAcquire(key: K, permits?: number): Guard | undefined;
}

export class Key<K, T extends Keyed<K, O>, O extends WaitOptions = WaitOptions> implements Acquirable<Guard, O> {
  readonly #of: T;
  readonly #key: K;

  static {
    setPlace(Key, (one) => ({ owner: one.#of, key: one.#key }));
    show(Key, "KeyedLock", ["name", "key", "locked", "waiting"]);
  }

  constructor(of: T, key: K) {
    this.#of = of;
    this.#key = key;
  }

  get key(): K {
    return this.#key;
  }

  get name(): string | undefined {
    return this.#of.name;
  }

  /** For acquireAll. */
  get closed(): boolean {
    return this.#of.closed;
  }

  get locked(): boolean {
    return this.#of.locked(this.#key);
  }

  get waiting(): number {
    return this.#of.waiting(this.#key);
  }

  acquire(options?: O): Promise<Guard> {
    return this.#of.acquire(this.#key, options);
  }

  tryAcquire(permits?: number): Guard | undefined {
    return this.#of.tryAcquire(this.#key, permits);
  }

  run<R>(fn: (guard: Guard) => R | PromiseLike<R>, options?: O): Promise<R> {
    return runHolding(this, fn, options);
  }

  wrap<This, A extends unknown[], R>(fn: (this: This, ...args: A) => R): Wrapped<This, A, R> {
    return wrapped(fn, (call) => this.run(call));
  }
}
