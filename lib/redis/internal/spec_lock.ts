/**
 * Anything that one spec describes, as an Acquirable: a side of a read-write lock, a key of a keyed mutex.
 *
 * @module
 */
import { promised, readWaitOptions } from "../../internal/check.ts";
import { type Place, setPlace } from "../../internal/place.ts";
import { show } from "../../internal/show.ts";
import type { Acquirable, WaitOptions } from "../../types.ts";
import { acquireLease, tryAcquireLease } from "./replicated.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { runHolding } from "./run_holding.ts";

export class SpecLock implements Acquirable<Lease> {
  readonly #spec: ResourceSpec;

  static readonly name = "Acquirable";

  static {
    setPlace(SpecLock, (lock) => placeOf(lock.#spec));
    show(SpecLock, ["kind", "name", "key"], (lock) => lock.#spec.resource);
  }

  constructor(spec: ResourceSpec) {
    this.#spec = spec;
  }

  acquire(options?: WaitOptions): Promise<Lease> {
    return promised(() => acquireLease(this.#spec, readWaitOptions(options)));
  }

  tryAcquire(): Promise<Lease | undefined> {
    return tryAcquireLease(this.#spec);
  }

  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }
}

/** Its place in the order of `acquireAll`: the name of its state, which is the same in every process. */
export function placeOf({ connection, keys }: ResourceSpec): Place {
  return { owner: connection, remote: keys[0] };
}
