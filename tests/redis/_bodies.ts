/** Every class, as a resource with room for one holder. */
import {
  type Backend,
  type Inspection,
  type RedisAcquirable,
  RedisKeyedMutex,
  RedisLock,
  type RedisOptions,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";

export interface Body {
  readonly held: RedisAcquirable;
  inspect(): Promise<Inspection>;
  forceRelease(): Promise<boolean>;
}

export type MakeBody = (backend: Backend, options?: RedisOptions) => Body;

function lock(backend: Backend, options?: RedisOptions): Body {
  const held = new RedisLock(backend, "a", options);
  return { held, inspect: () => held.inspect(), forceRelease: () => held.forceRelease() };
}

function semaphore(backend: Backend, options?: RedisOptions): Body {
  const held = new RedisSemaphore(backend, "a", 1, options);
  return { held, inspect: () => held.inspect(), forceRelease: () => held.forceRelease() };
}

function key(backend: Backend, options?: RedisOptions): Body {
  const mutex = new RedisKeyedMutex(backend, options);
  return { held: mutex.at("a"), inspect: () => mutex.inspect("a"), forceRelease: () => mutex.forceRelease("a") };
}

function side(of: "reader" | "writer"): MakeBody {
  return (backend, options) => {
    const lock = new RedisRwLock(backend, "a", options);
    return { held: lock[of], inspect: () => lock.inspect(), forceRelease: () => lock.forceRelease() };
  };
}

/** Two of these exclude each other, but not two readers. */
export const bodies = { lock, semaphore, key, writer: side("writer"), reader: side("reader") } satisfies Record<
  string,
  MakeBody
>;
