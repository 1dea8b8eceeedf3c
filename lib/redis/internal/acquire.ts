/**
 * The two ways to acquire what one spec describes.
 *
 * @module
 */
import type { WaitOptions } from "../../types.ts";
import { Acquisition } from "./acquisition.ts";
import type { RedisConnection } from "./connection.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { timedOut } from "./timed_out.ts";

/** Waits in the queue. */
export function acquire(connection: RedisConnection, spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (timeout !== 0) return new Acquisition(connection, spec, true, timeout, signal).lease as Promise<Lease>;
  // Tries once without waiting: the round trip to Redis is not waiting, but is bounded as well.
  return new Acquisition(connection, spec, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw timedOut(spec, 0);
  });
}

/** Tries once, without joining the queue. */
export function tryAcquire(connection: RedisConnection, spec: ResourceSpec): Promise<Lease | undefined> {
  return new Acquisition(connection, spec, false, Infinity, undefined).lease;
}
