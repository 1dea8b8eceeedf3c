/**
 * Locks, limits and queues for one process, with asyncio's semantics: every queue is strictly first come, first served,
 * with direct hand-off, and every wait can be cancelled by an `AbortSignal` or a `timeout`.
 *
 * {@linkcode Lock}, {@linkcode TimeoutLock}, {@linkcode KeyedMutex}, {@linkcode lockOnArguments},
 * {@linkcode Semaphore}, {@linkcode BoundedSemaphore}, {@linkcode RwLock}, {@linkcode Event}, {@linkcode SetEvent},
 * {@linkcode Condition}, {@linkcode Barrier}, {@linkcode acquireAll}, {@linkcode KeyedSemaphore},
 * {@linkcode RateLimiter}, {@linkcode KeyedRateLimiter}, {@linkcode Queue}, {@linkcode SingleFlight},
 * {@linkcode shareOnArguments}, {@linkcode TaskGroup}, {@linkcode Pool} and {@linkcode GracefulShutdown}. Locks,
 * semaphores and read-write locks across machines, with the same interface, are in `@interlock/interlock/redis`.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 *
 * const lock = new Lock();
 * using _ = await lock.acquire({ timeout: 1000 });
 * // One at a time here.
 * ```
 *
 * @module interlock
 */
export type { Acquirable, Guard, MaxWaitingOptions, NameOptions, WaitOptions } from "./lib/types.ts";
export { ClosedError, LeaseLostError, NotHeldError, QueueFullError, SyncError, TimeoutError } from "./lib/errors.ts";
export { Lock } from "./lib/lock.ts";
export { TimeoutLock } from "./lib/timeout_lock.ts";
export { Event } from "./lib/event.ts";
export { SetEvent } from "./lib/set_event.ts";
export { Condition } from "./lib/condition.ts";
export { BoundedSemaphore, Semaphore, type SemaphoreOptions } from "./lib/semaphore.ts";
export { Barrier, BrokenBarrierError } from "./lib/barrier.ts";
export { RwLock, type RwLockSide, type RwLockWriter, type WriterGuard } from "./lib/rw_lock.ts";
export { type KeyedLock, KeyedMutex } from "./lib/keyed_mutex.ts";
export { Queue } from "./lib/queue.ts";
export { TaskGroup, type TaskGroupOptions } from "./lib/task_group.ts";
export { SingleFlight } from "./lib/single_flight.ts";
export { type KeyedPermits, KeyedSemaphore } from "./lib/keyed_semaphore.ts";
export { acquireAll, type AnyGuard, type GuardGroup, type GuardsOf } from "./lib/acquire_all.ts";
export { KeyedRateLimiter, type KeyedRateLimiterBudget } from "./lib/keyed_rate_limiter.ts";
export {
  type RateBudget,
  RateLimiter,
  type RateLimiterBudget,
  type RateLimiterOptions,
  type RateOptions,
} from "./lib/rate_limiter.ts";
export {
  type ArgumentMutex,
  type KeyPart,
  type LockedOnArguments,
  lockOnArguments,
  type LockOnArgumentsOptions,
} from "./lib/arguments/lock_on_arguments.ts";
export {
  type SharedOnArguments,
  shareOnArguments,
  type ShareOnArgumentsOptions,
} from "./lib/arguments/share_on_arguments.ts";
export { GracefulShutdown } from "./lib/shutdown/graceful_shutdown.ts";
export type { AttachOptions, ServerLike } from "./lib/shutdown/attach.ts";
export type { DenoServerLike } from "./lib/shutdown/fetch/deno.ts";
export type { FetchHandler, HandlerOptions } from "./lib/shutdown/fetch/handler.ts";
export type { NodeRequestLike, NodeServerLike } from "./lib/shutdown/node/shapes.ts";
export type { GracefulShutdownOptions } from "./lib/shutdown/options.ts";
export type { BunServerLike } from "./lib/shutdown/platform/bun.ts";
export type { PoolLike } from "./lib/shutdown/pool_work.ts";
export type { ShutdownReport } from "./lib/shutdown/report.ts";
export type { RawSocketLike, WebSocketLike, WebSocketOptions } from "./lib/shutdown/web_socket.ts";
export { Pool, type PoolMapOptions, type PoolOptions } from "./lib/pool/pool.ts";
export type { Task, TaskStatus } from "./lib/pool/task.ts";
export type { MapFunction, MapOptions, MapResult, MapResults, TaskOptions } from "./lib/pool/types.ts";
export type { MapSource } from "./lib/pool/map_source.ts";
