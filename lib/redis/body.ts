/**
 * The operations shared by the classes over Redis, and the Acquirables without a class of their own: a side of a
 * read-write lock, a key of a keyed mutex.
 *
 * @module
 */
import { runHoldingRemotely } from "../internal/call_in.ts";
import { checkName, promiseTry } from "../internal/check.ts";
import { exposeState, type LockIdentity } from "../internal/state.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction, type Wrapped } from "../internal/wrap.ts";
import type { WaitOptions } from "../types.ts";
import { acquire, acquireOnce } from "./call/acquire_call.ts";
import { sendSingle } from "./call/single_command.ts";
import { UnknownOutcomeError } from "./errors.ts";
import type { Inspection } from "./inspect.ts";
import type { Lease, RedisAcquirable } from "./lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";

/** Takes over the hold with this id. */
export async function adoptLease(spec: ResourceSpec, id: string): Promise<Lease | undefined> {
  checkName(id, "id");
  return await acquireOnce(spec, id);
}

export function inspect(spec: ResourceSpec): Promise<Inspection> {
  return sendSingle(spec, `inspect ${spec.what}`, (command) => spec.namespace.store.inspect(spec, command));
}

/** Revokes all holds and hands off to the next waiters. Returns whether there was a hold. */
export function forceRelease(spec: ResourceSpec): Promise<boolean> {
  const { namespace: { store }, what } = spec;
  return sendSingle(spec, `release ${what} by force`, (command) => store.releaseAll(spec, command));
}

/** Calls `fn` while holding, and releases when it has ended, even with an error. */
export function runHolding<T>(acquire: () => Promise<Lease>, fn: (lease: Lease) => T | PromiseLike<T>): Promise<T> {
  return runHoldingRemotely(acquire, fn, (lease) => lease.release().catch(ignoreUnknownOutcome));
}

/** Released or expired, the hold is over, and `fn` has succeeded. */
function ignoreUnknownOutcome(error: unknown): void {
  if (!(error instanceof UnknownOutcomeError)) throw error;
}

/** The place in the order of `acquireAll`: the name of the state key, which every process shares. */
export function identityOf({ namespace, keys }: ResourceSpec): LockIdentity {
  return { owner: namespace, remote: keys[0] };
}

export class SpecLock implements RedisAcquirable {
  readonly #spec: ResourceSpec;
  static {
    exposeState(SpecLock, (lock) => identityOf(lock.#spec));
    printAs(SpecLock, "Acquirable", ["kind", "name", "key"], (lock) => lock.#spec.resource);
  }

  constructor(spec: ResourceSpec) {
    this.#spec = spec;
  }

  acquire(options?: WaitOptions): Promise<Lease> {
    return promiseTry(() => acquire(this.#spec, options));
  }

  tryAcquire(): Promise<Lease | undefined> {
    return acquireOnce(this.#spec);
  }

  adopt(id: string): Promise<Lease | undefined> {
    return adoptLease(this.#spec, id);
  }

  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }

  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): Wrapped<T, A, R> {
    return wrapFunction(fn, (call) => this.run(call));
  }
}
