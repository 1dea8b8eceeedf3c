/**
 * The two ways to acquire what one spec describes.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import type { WaitOptions } from "../../types.ts";
import { Acquisition } from "./acquisition.ts";
import type { RedisConnection } from "./connection.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";

/** Waits in the queue. */
export function acquire(connection: RedisConnection, spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (timeout !== 0) return new Acquisition(connection, spec, true, timeout, signal).lease as Promise<Lease>;
  // Tries once without waiting: the round trip to Redis is not waiting, but is bounded as well.
  return new Acquisition(connection, spec, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw new TimeoutError(`Cannot acquire ${spec.what}: it is not free, and the timeout is 0 ms`);
  });
}

/** Tries once, without joining the queue. */
export function tryAcquire(connection: RedisConnection, spec: ResourceSpec): Promise<Lease | undefined> {
  return new Acquisition(connection, spec, false, Infinity, undefined).lease;
}
