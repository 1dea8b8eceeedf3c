/**
 * Calling a function while holding. Invariant: the hold is given back however the function ends, and its error is never
 * replaced by one of the release.
 *
 * @module
 */
import { checkFunction, promised } from "../../internal/check.ts";
import { hook } from "../../internal/hook.ts";
import { UnknownOutcomeError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import { LeaseHandle } from "./lease_handle.ts";

type Callback<T> = (lease: Lease) => T | PromiseLike<T>;

export function runHolding<T>(acquire: () => Promise<Lease>, fn: Callback<T>): Promise<T> {
  return promised(() => {
    checkFunction(fn, "fn");
    return hold(acquire, fn);
  });
}

async function hold<T>(acquire: () => Promise<Lease>, fn: Callback<T>): Promise<T> {
  const lease = await acquire();
  let result: T;
  try {
    result = await (hook === undefined ? fn(lease) : hook.run(LeaseHandle.callOf(lease), () => fn(lease)));
  } catch (error) {
    // If this fails the lease ends with its time; the caller has to see the first error.
    await lease.release().catch(() => {});
    throw error;
  }
  await lease.release().catch((error) => {
    // Released or expired, the hold is over, and the function has succeeded.
    if (!(error instanceof UnknownOutcomeError)) throw error;
  });
  return result;
}
