/**
 * Locks, semaphores and rate limits across processes and machines, through Redis: leases that are renewed while they
 * are held, granted first come, first served, with a fencing token for the protected resource.
 *
 * @module redis
 */
export { LeaseLostError, NotHeldError, SyncError, TimeoutError } from "../errors.ts";
export type { Acquirable, WaitOptions } from "../types.ts";
export { bunRedis, type BunRedisClient } from "./clients/bun_redis.ts";
export { denoRedis, type DenoRedisClient } from "./clients/deno_redis.ts";
export type { DenoRedisSubscriber, DenoRedisSubscription } from "./clients/deno_subscriptions.ts";
export { RedisError } from "./errors.ts";
export type { Holder, Inspection, Waiter } from "./inspect.ts";
export { ioRedis, type IoRedisClient } from "./clients/io_redis.ts";
export { RedisKeyedMutex } from "./keyed_mutex.ts";
export { memoryBackend } from "./memory_backend.ts";
export type { Lease, RedisAcquirable } from "./lease.ts";
export { RedisLock } from "./lock.ts";
export { nodeRedis, type NodeRedisClient } from "./clients/node_redis.ts";
export type { RedisOptions } from "./options.ts";
export type { Backend, ClientOptions } from "./clients/backend.ts";
export { RedisRateLimiter, type RedisRateLimiterOptions, type RedisRateLimiterWaitOptions } from "./rate_limiter.ts";
export { RedisRwLock } from "./rw_lock.ts";
export { RedisSemaphore, type RedisSemaphoreWaitOptions } from "./semaphore.ts";
