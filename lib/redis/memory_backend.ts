/**
 * A backend without a server: the store is in this process.
 *
 * @module
 */
import { type Backend, IN_MEMORY, STORE } from "./clients/backend.ts";
import { RedisError } from "./errors.ts";
import { MemoryStore } from "./store/memory_store.ts";

const REFUSED = "Cannot run a script: this backend is in memory; pass it as it is";

/**
 * Creates a backend in this process, for unit tests and for development without a server. The classes over Redis work
 * over it as over a server: one queue for each name, tokens, and leases that are renewed, adopted and revoked. It uses
 * `setTimeout`, `performance` and `Date`, even fake ones, so tests need not wait. Each call creates a separate server;
 * objects share it only if they share the backend.
 *
 * It excludes nothing outside this process: each process and each worker has its own. So it is not for production, and
 * it cannot simulate a broken connection.
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
