/**
 * Many readers or one writer among the tabs and workers of one origin, by the two modes of a platform lock.
 *
 * @module
 */
import { runHoldingRemotely } from "../internal/call_in.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction, type Wrapped } from "../internal/wrap.ts";
import type { Acquirable, WaitOptions } from "../types.ts";
import { acquire, tryAcquire, type WebGuard } from "./guard.ts";
import { checkWebName, readLocks, specOf, type WebLockSpec, type WebRwLockOptions } from "./options.ts";

/** One side of a {@linkcode WebRwLock}. */
export interface WebRwLockSide extends Acquirable<WebGuard> {
  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>>;
}

/**
 * Many readers or one writer, among all tabs and workers of an origin. The writer side equals a {@linkcode WebLock} of
 * that name, the reader side a `WebLock` of mode "shared".
 *
 * Within a single thread, use `RwLock`. A reader cannot become a writer: acquiring `writer` while holding `reader`
 * deadlocks.
 *
 * **Fairness**: that of the platform: one queue for both sides, first come, first served.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { WebRwLock } from "@interlock/interlock/web";
 *
 * const cache = new WebRwLock("cache");
 * await cache.reader.run(() => console.log("reading")); // reading
 * await cache.writer.run(() => console.log("writing")); // writing
 * ```
 */
export class WebRwLock {
  /** The shared side: any number of holders while no writer holds. */
  readonly reader: WebRwLockSide;
  /** The exclusive side: one holder while no reader holds. */
  readonly writer: WebRwLockSide;
  readonly #name: string;

  /**
   * Creates a handle of the lock with that name, without requesting it.
   *
   * @param name Any text that is not empty and does not begin with a hyphen.
   * @param options A lock manager to use instead of `navigator.locks`.
   * @throws {SyncError} when the run-time has no `navigator.locks` and none is given.
   * @throws {TypeError} when an argument or option has a wrong type, or `locks` is not a LockManager.
   * @throws {RangeError} when `name` is empty or begins with a hyphen.
   */
  constructor(name: string, options?: WebRwLockOptions) {
    checkWebName(name);
    const locks = readLocks("WebRwLock", options);
    this.#name = name;
    this.reader = new Side(specOf("reader side", { kind: "web-reader", name, mode: "shared", locks }));
    this.writer = new Side(specOf("writer side", { kind: "web-writer", name, mode: "exclusive", locks }));
  }

  /** The platform's name of the lock. */
  get name(): string {
    return this.#name;
  }
}
printAs(WebRwLock, "WebRwLock", ["name"]);

class Side implements WebRwLockSide {
  readonly #spec: WebLockSpec;

  static {
    printAs(Side, "WebRwLockSide", ["name", "mode"], (side) => side.#spec);
  }

  constructor(spec: WebLockSpec) {
    this.#spec = spec;
  }

  acquire(options?: WaitOptions): Promise<WebGuard> {
    return acquire(this.#spec, options);
  }

  tryAcquire(): Promise<WebGuard | undefined> {
    return tryAcquire(this.#spec);
  }

  run<T>(fn: (guard: WebGuard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHoldingRemotely(() => this.acquire(options), fn);
  }

  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): Wrapped<T, A, R> {
    return wrapFunction(fn, (call) => this.run(call));
  }
}
