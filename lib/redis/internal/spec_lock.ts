/**
 * Anything that one spec describes, as an Acquirable: a side of a read-write lock, a key of a keyed mutex.
 *
 * @module
 */
import { promised, readWaitOptions } from "../../internal/check.ts";
import { type Place, setPlace } from "../../internal/place.ts";
import type { Acquirable, WaitOptions } from "../../types.ts";
import { acquireLease, tryAcquireLease } from "./replicated.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { runHolding } from "./run_holding.ts";
import type { RedisConnection } from "./connection.ts";

export class SpecLock implements Acquirable<Lease> {
  readonly #connection: RedisConnection;
  readonly #spec: ResourceSpec;

  static {
    setPlace(SpecLock, (lock) => placeOn(lock.#connection, lock.#spec));
  }

  constructor(connection: RedisConnection, spec: ResourceSpec) {
    this.#connection = connection;
    this.#spec = spec;
  }

  acquire(options?: WaitOptions): Promise<Lease> {
    return promised(() => acquireLease(this.#connection, this.#spec, readWaitOptions(options)));
  }

  tryAcquire(): Promise<Lease | undefined> {
    return tryAcquireLease(this.#connection, this.#spec);
  }

  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }
}

/** Its place in the order of `acquireAll`: the name of its state, which is the same in every process. */
export function placeOn(connection: RedisConnection, spec: ResourceSpec): Place {
  return { owner: connection, remote: spec.keys[0] };
}
