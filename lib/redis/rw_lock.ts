/**
 * A read-write lock across machines. Invariant: many readers or one writer; it is a semaphore in which a reader takes
 * one permit and a writer takes all.
 *
 * @module
 */
import { checkName, quote } from "../internal/check.ts";
import { printAs } from "../internal/show.ts";
import { forceRelease, inspect, SpecLock } from "./body.ts";
import type { Inspection } from "./inspect.ts";
import type { RedisAcquirable } from "./lease.ts";
import type { RedisOptions } from "./options.ts";
import { type Backend, checkBackend } from "./clients/backend.ts";
import { type ResourceSpec, setupOf, specOf } from "./resource_spec.ts";

/** Exceeds any number of readers. */
export const EVERYTHING = 1_000_000_000;

/**
 * Many readers or one writer, across processes and machines.
 *
 * Do not use it for short reads: each read costs two round trips to Redis. A reader's hold is a lease like any other,
 * with a fencing token of its own.
 *
 * **Fairness**: first come, first served across both sides: readers wait behind a waiting writer, so neither side
 * starves.
 *
 * **Cancellation**: a cancelled call leaves nothing in Redis, and the waiters behind it move up.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisRwLock } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * // Connect it before use:
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * const config = new RedisRwLock(nodeRedis(client), "config");
 *
 * export const read = (load: () => Promise<string>) =>
 *   config.reader.run(load, { timeout: 5000 });
 * export const write = (save: () => Promise<void>) =>
 *   config.writer.run(save, { timeout: 5000 });
 * ```
 */
export class RedisRwLock {
  /** The shared side. */
  readonly reader: RedisAcquirable;
  /** The exclusive side. */
  readonly writer: RedisAcquirable;
  readonly #spec: ResourceSpec;

  static {
    printAs(RedisRwLock, "RedisRwLock", ["name"], (lock) => lock.#spec.resource);
  }

  /**
   * Creates a handle of the lock with that name, without a command to Redis.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param name Any text that is not empty.
   * @param options Length and renewal of the leases, and where keys live.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `name` is empty, `ttl` is not a whole number from 10 to 2,147,483,647, or `renew` is 0 or
   * less.
   */
  constructor(backend: Backend, name: string, options?: RedisOptions) {
    checkBackend(backend);
    checkName(name);
    const setup = setupOf(backend, options);
    const spec = (kind: string, of: string, weight: number) => {
      const what = `${of}read-write lock ${quote(name)}`;
      return specOf(setup, ["rw", name], what, { kind, name, unit: weight }, { weight, limit: EVERYTHING });
    };
    this.#spec = spec("redis-writer", "", EVERYTHING);
    this.reader = new SpecLock(spec("redis-reader", "reader of ", 1));
    this.writer = new SpecLock(spec("redis-writer", "writer of ", EVERYTHING));
  }

  /**
   * Returns the holders and the waiters, at one moment. For display: the result is outdated when it arrives. A writer's
   * `permits` is 1,000,000,000.
   *
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  inspect(): Promise<Inspection> {
    return inspect(this.#spec);
  }

  /**
   * Revokes all holds and hands off to the next waiters. The revoked holders notice as in
   * {@linkcode RedisLock.forceRelease}. Until then, only a check of fencing tokens keeps out their writes.
   *
   * @returns Whether there was a holder.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  forceRelease(): Promise<boolean> {
    return forceRelease(this.#spec);
  }
}
