/**
 * Doing something while holding. Invariant: what was acquired is given back however the function ends, and an error of
 * the function is never replaced by one of giving back.
 *
 * @module
 */
import { checkFunction, promised } from "../../internal/check.ts";
import type { Lease } from "../lease.ts";

export function runWith<T>(acquire: () => Promise<Lease>, fn: (lease: Lease) => T | PromiseLike<T>): Promise<T> {
  return promised(() => {
    checkFunction(fn, "fn");
    return hold(acquire, fn);
  });
}

async function hold<T>(acquire: () => Promise<Lease>, fn: (lease: Lease) => T | PromiseLike<T>): Promise<T> {
  const lease = await acquire();
  let result: T;
  try {
    result = await fn(lease);
  } catch (error) {
    // The lease ends with its time if this fails; the caller has to hear of the first error.
    await lease.release().catch(() => {});
    throw error;
  }
  await lease.release();
  return result;
}
