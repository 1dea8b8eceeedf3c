/**
 * One lock for each key, across machines. Invariant: keys never wait for each other, and Redis drops an unused key
 * after a minute.
 *
 * @module
 */
import { checkKey, promiseTry, quote } from "../internal/check.ts";
import { printAs } from "../internal/show.ts";
import type { WaitOptions } from "../types.ts";
import { acquireOnce } from "./call/acquire_call.ts";
import { forceRelease, inspect, SpecLock } from "./body.ts";
import type { Inspection } from "./inspect.ts";
import type { Lease, RedisAcquirable } from "./lease.ts";
import { checkTextKey, type RedisOptions } from "./options.ts";
import { type Backend, checkBackend } from "./clients/backend.ts";
import { type ResourceSpec, type Setup, setupOf, specOf } from "./resource_spec.ts";

/**
 * Mutual exclusion per key, across processes and machines: the orders of one user run one at a time, orders of
 * different users concurrently. Keys need not be created or dropped.
 *
 * For one lock with a fixed name, use `RedisLock`. Keys are strings, because a key must mean the same lock on all
 * machines.
 *
 * **Fairness**: first come, first served within a key.
 *
 * **Cancellation**: a cancelled call leaves nothing in Redis.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisKeyedMutex } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * // Connect it before use:
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * const users = new RedisKeyedMutex(nodeRedis(client), { prefix: "shop:" });
 *
 * export async function order(user: string, place: () => Promise<void>) {
 *   await users.run(`user ${user}`, place, { timeout: 5000 });
 * }
 * ```
 */
export class RedisKeyedMutex {
  readonly #setup: Setup;

  static {
    printAs(RedisKeyedMutex, "RedisKeyedMutex", ["prefix"], (mutex) => mutex.#setup.settings);
  }

  /**
   * Creates a handle of all keys under a `prefix`, without a command to Redis.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param options Length and renewal of the leases. Two keyed mutexes with the same `prefix` share their keys.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `ttl` is not a whole number from 10 to 2,147,483,647, or `renew` is 0 or less.
   */
  constructor(backend: Backend, options?: RedisOptions) {
    checkBackend(backend);
    this.#setup = setupOf(backend, options);
  }

  /**
   * Waits in the queue for a key.
   *
   * **Fairness**: strictly first come, first served within the key.
   *
   * **Cancellation**: by `signal` or `timeout`, at any time.
   *
   * @param key Any text.
   * @param options When to stop waiting. `timeout`, in milliseconds, bounds the whole call, even while Redis does not
   *   answer.
   * @throws {TimeoutError} when the timeout has passed; `cause` is the connection's error if there is one.
   * @throws {signal.reason} when the signal aborts.
   * @throws {RedisError} when Redis refuses the command. Without `signal` and `timeout`, also when Redis could not be
   *   reached for one `ttl`.
   * @throws {TypeError} when the key or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  acquire(key: string, options?: WaitOptions): Promise<Lease> {
    return promiseTry(() => this.at(key).acquire(options));
  }

  /**
   * Takes the key in one round trip if it is free and its queue is empty.
   *
   * **Fairness**: the call never overtakes a waiter.
   *
   * **Cancellation**: none, because the call never waits.
   *
   * @param key Any text.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  tryAcquire(key: string): Promise<Lease | undefined> {
    return promiseTry(() => acquireOnce(this.#spec(key)));
  }

  /**
   * Calls `fn` while holding `key`, and releases it when `fn` has ended, even with an error. If the lease is lost
   * meanwhile, `lease.signal` aborts, and `fn` has to stop: `run` itself does not throw then.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RedisKeyedMutex.acquire}.
   *
   * @param key Any text.
   * @param fn Called with the lease.
   * @param options As for {@linkcode RedisKeyedMutex.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode RedisKeyedMutex.acquire} and of `fn`.
   */
  run<T>(key: string, fn: (lease: Lease) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return promiseTry(() => this.at(key).run(fn, options));
  }

  /**
   * Returns one key as a lock, for code that takes any `Acquirable` and for `acquireAll`. No command is sent to Redis.
   *
   * @param key Any text.
   * @throws {TypeError} when `key` is not a string.
   */
  at(key: string): RedisAcquirable {
    return new SpecLock(this.#spec(key));
  }

  /**
   * Returns the holder and the waiters of a key, at one moment. For display: the result is outdated when it arrives.
   *
   * @param key The key.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   * @throws {TypeError} when `key` is not a string.
   */
  inspect(key: string): Promise<Inspection> {
    return promiseTry(() => inspect(this.#spec(key)));
  }

  /**
   * Revokes the current hold of a key and hands off to the next waiter. The revoked holder notices as in
   * {@linkcode RedisLock.forceRelease}. Until then, only a check of fencing tokens keeps out its writes.
   *
   * @param key The key.
   * @returns Whether there was a holder.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   * @throws {TypeError} when `key` is not a string.
   */
  forceRelease(key: string): Promise<boolean> {
    return promiseTry(() => forceRelease(this.#spec(key)));
  }

  #spec(key: string): ResourceSpec {
    checkKey(key);
    checkTextKey(key);
    const resource = { kind: "redis-key", noun: "redis lock", name: undefined, key };
    return specOf(this.#setup, ["keyed", key], `key ${quote(key)}`, resource);
  }
}
