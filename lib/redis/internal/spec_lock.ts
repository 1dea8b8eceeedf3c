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
import type { Target } from "./resource_spec.ts";
import { runHolding } from "./run_holding.ts";
import type { Session } from "./session.ts";

export class SpecLock implements Acquirable<Lease> {
  readonly #session: Session;
  readonly #target: Target;

  static {
    setPlace(SpecLock, (lock) => placeOn(lock.#session, lock.#target));
  }

  constructor(session: Session, target: Target) {
    this.#session = session;
    this.#target = target;
  }

  acquire(options?: WaitOptions): Promise<Lease> {
    return promised(() => acquireLease(this.#session, this.#target, readWaitOptions(options)));
  }

  tryAcquire(): Promise<Lease | undefined> {
    return tryAcquireLease(this.#session, this.#target);
  }

  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }
}

/** Its place in the order of `acquireAll`: the name of its state, which is the same in every process. */
export function placeOn(session: Session, target: Target): Place {
  return { owner: session, remote: target.keys[0] };
}
