/**
 * The calls that acquire, without the option `replicas`.
 *
 * @module
 */
import { reasonOf } from "../../internal/check.ts";
import type { WaitOptions } from "../../types.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import { AcquireCall, timedOutError } from "./acquire_call.ts";

/** Waits in the queue. */
export function acquire(spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(reasonOf(signal));
  if (timeout !== 0) return new AcquireCall(spec, true, timeout, signal).lease as Promise<Lease>;
  // Tries once without waiting: the round trip to Redis is not waiting, but is bounded as well.
  return new AcquireCall(spec, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw timedOutError(spec, 0);
  });
}

/** Tries once, without joining the queue. */
export function tryAcquire(spec: ResourceSpec): Promise<Lease | undefined> {
  return new AcquireCall(spec, false, Infinity, undefined).lease;
}

/** Takes over the hold with this id, if there is one. */
export function adopt(spec: ResourceSpec, id: string): Promise<Lease | undefined> {
  return new AcquireCall(spec, false, Infinity, undefined, id).lease;
}
