/**
 * A backend without a server.
 *
 * @module
 */
import { type Backend, IN_MEMORY, STORE } from "./clients/backend.ts";
import { RedisError } from "./errors.ts";
import { MemoryStore } from "./store/memory_store.ts";

const REFUSED = "Cannot run a script: this backend is in memory; pass it as it is";

/**
 * Makes a backend that lives in this process: for unit tests, and for development without a server. The classes over Redis
 * do the same over it as over a server: one queue for each name, tokens, leases that are renewed, adopted and revoked. Its
 * time is that of `setTimeout`, `performance` and `Date`, also of fake ones, so tests need not wait for it. Every call
 * makes a server of its own, which two objects share only if they share the backend.
 *
 * It excludes nothing outside of this process: two processes, or two workers, each have their own. Not for production, and
 * not for tests of what a connection can do to a lease.
 *
 * @returns The backend, for the constructors of the classes over Redis.
 *
 * @example
 * ```ts
 * import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
 *
 * const lock = new RedisLock(memoryBackend(), "orders");
 * await lock.run((lease) => console.log(lease.held)); // true
 * ```
 */
export function memoryBackend(): Backend {
  const run = () => Promise.reject(new RedisError(REFUSED));
  return { library: IN_MEMORY, evalsha: run, eval: run, [STORE]: new MemoryStore() } as Backend;
}
