/**
 * A lock across machines. Invariant: at any moment at most one lease of a name is trusted by its holder, as far as
 * clocks run alike.
 *
 * @module
 */
import { checkName, promiseTry, quote } from "../internal/check.ts";
import { exposeState } from "../internal/state.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction } from "../internal/wrap.ts";
import type { WaitOptions } from "../types.ts";
import { acquire, acquireOnce } from "./call/acquire_call.ts";
import { adoptLease, forceRelease, identityOf, inspect, runHolding } from "./body.ts";
import type { Inspection } from "./inspect.ts";
import type { Lease, RedisAcquirable } from "./lease.ts";
import type { RedisOptions } from "./options.ts";
import { type Backend, checkBackend } from "./clients/backend.ts";
import { type ResourceSpec, setupOf, specOf } from "./resource_spec.ts";

/**
 * Mutual exclusion across processes and machines: a name has one holder at a time. One object serves any number of
 * callers; each `acquire` returns its own lease.
 *
 * A lock alone does not protect operations that must never happen twice: a lease ends if its holder is paused for too
 * long, and Redis may lose a lease in a failover. Let the resource check {@linkcode Lease.fencingToken}. Within one
 * process, `Lock` is a thousand times cheaper.
 *
 * **Fairness**: first come, first served, by arrival at the server; the releaser hands off to the next live waiter, and
 * a new call never overtakes.
 *
 * **Cancellation**: a cancelled call leaves nothing in Redis, and is never granted anything.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisLock } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * // Connect it before use:
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * const orders = new RedisLock(nodeRedis(client), "orders");
 *
 * type Send = (fencingToken: number, signal: AbortSignal) => Promise<void>;
 *
 * export async function ship(send: Send) {
 *   await orders.run(
 *     ({ fencingToken, signal }) => send(fencingToken, signal),
 *     { timeout: 5000 },
 *   );
 * }
 * ```
 */
export class RedisLock implements RedisAcquirable {
  readonly #spec: ResourceSpec;

  static {
    exposeState(RedisLock, (lock) => identityOf(lock.#spec));
    printAs(RedisLock, "RedisLock", ["name"], (lock) => lock.#spec.resource);
  }

  /**
   * Creates a handle of the lock with that name, without a command to Redis.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param name Any text that is not empty. A name means the same lock for all callers with the same `prefix`.
   * @param options Length and renewal of the leases, and where keys live.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `name` is empty, `ttl` is not a whole number from 10 to 2,147,483,647, or `renew` is 0 or
   * less.
   */
  constructor(backend: Backend, name: string, options?: RedisOptions) {
    checkBackend(backend);
    checkName(name);
    this.#spec = specOf(setupOf(backend, options), ["lock", name], `lock ${quote(name)}`, { kind: "redis-lock", name });
  }

  /**
   * Waits in the queue for the lock and resolves to its lease.
   *
   * **Fairness**: strictly first come, first served.
   *
   * **Cancellation**: by `signal` or `timeout`, at any time. The call rejects at once, and its place in the queue is
   * removed in the background.
   *
   * @param options When to stop waiting. `timeout`, in milliseconds, bounds the whole call, even while Redis does not
   *   answer.
   * @throws {TimeoutError} when the timeout has passed; `cause` is the connection's error if there is one.
   * @throws {signal.reason} when the signal aborts.
   * @throws {RedisError} when Redis refuses the command. Without `signal` and `timeout`, also when Redis could not be
   *   reached for one `ttl`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  acquire(options?: WaitOptions): Promise<Lease> {
    return promiseTry(() => acquire(this.#spec, options));
  }

  /**
   * Takes the lock in one round trip if it is free and its queue is empty.
   *
   * **Fairness**: the call never overtakes a waiter.
   *
   * **Cancellation**: none, because the call never waits.
   *
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  tryAcquire(): Promise<Lease | undefined> {
    return acquireOnce(this.#spec);
  }

  /**
   * Takes over the lease with this `lease.id`, even from another process: a scheduler acquires, and a worker continues.
   * The new lease has the same fencing token, its own id, and this object's `ttl` and `renew`. The first lease is lost:
   * its holder notices at its next renewal, `verify` or `extend`. Do not adopt a lease that its holder still uses.
   *
   * @param id The `id` of a lease of this name.
   * @returns The lease; undefined if it is no longer held.
   * @throws {TypeError | RangeError} when `id` is not a string, or is empty.
   * @throws {RedisError} when Redis refuses the command, or could not be reached for one `ttl`.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
   *
   * const backend = memoryBackend(); // in place of a Redis server
   * const first = await new RedisLock(backend, "report").acquire();
   * const worker = new RedisLock(backend, "report");
   * await using second = await worker.adopt(first.id);
   * console.log(second?.fencingToken === first.fencingToken); // true
   * console.log(await first.verify(), second?.held); // false true
   * ```
   */
  adopt(id: string): Promise<Lease | undefined> {
    return adoptLease(this.#spec, id);
  }

  /**
   * Calls `fn` while holding the lock, and releases it when `fn` has ended, even with an error. If the lease is lost
   * meanwhile, `lease.signal` aborts, and `fn` has to stop: `run` itself does not throw then.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RedisLock.acquire}.
   *
   * @param fn Called with the lease.
   * @param options As for {@linkcode RedisLock.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode RedisLock.acquire} and of `fn`.
   */
  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }

  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`. `fn` gets only
   * the arguments of the call. If `fn` has to notice the loss of its lease, use `run`.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Returns the holder and the waiters, at one moment. For display: the result is outdated when it arrives.
   *
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
   *
   * const options = { owner: "worker 1" };
   * const orders = new RedisLock(memoryBackend(), "orders", options);
   * await using lease = await orders.acquire();
   * const { holders, waiting } = await orders.inspect();
   * console.log(holders[0]?.owner, waiting); // worker 1 0
   * console.log(holders[0]?.id === lease.id); // true
   * ```
   */
  inspect(): Promise<Inspection> {
    return inspect(this.#spec);
  }

  /**
   * Revokes the current hold and hands off to the next waiter. The revoked holder notices at its next renewal, `verify`
   * or `extend`, after at most a third of its `ttl`. Until then, only a check of fencing tokens keeps out its writes.
   *
   * @returns Whether there was a holder.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
   *
   * const orders = new RedisLock(memoryBackend(), "orders");
   * const lease = await orders.acquire();
   * console.log(await orders.forceRelease()); // true
   * console.log(await lease.verify(), lease.signal.aborted); // false true
   * ```
   */
  forceRelease(): Promise<boolean> {
    return forceRelease(this.#spec);
  }
}
