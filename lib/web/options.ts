/**
 * The platform's view of a lock: its manager, name and mode. Constructors read the options once.
 *
 * @module
 */
import { checkName, checkOptions, must, withName } from "../internal/check.ts";
import type { Resource } from "../internal/hook.ts";
import { SyncError } from "../errors.ts";

/** Whether a lock is held exclusively or shared with other "shared" holders. */
export type WebLockMode = "exclusive" | "shared";

/** The used part of the platform's `LockManager`, by structure. */
export interface WebLockManager {
  /** As `navigator.locks.request`. */
  request(
    name: string,
    options: { mode: WebLockMode; ifAvailable: true } | { mode: WebLockMode; signal: AbortSignal },
    callback: (lock: unknown) => Promise<void> | undefined,
  ): Promise<unknown>;
  /** As `navigator.locks.query`. Only diagnostics need it. */
  query?(): Promise<unknown>;
}

/** Options of {@linkcode WebRwLock}. */
export interface WebRwLockOptions {
  /** The lock manager. Default: `navigator.locks`. */
  readonly locks?: WebLockManager | undefined;
}

/** Options of {@linkcode WebLock}. */
export interface WebLockOptions extends WebRwLockOptions {
  /** Default: "exclusive". */
  readonly mode?: WebLockMode | undefined;
}

/** One platform lock, as requested and reported. */
export interface WebLockSpec extends Resource {
  readonly name: string;
  readonly mode: WebLockMode;
  readonly locks: WebLockManager;
  /** The operation that waits, as in "Cannot ⟨acquire lock "orders"⟩: timed out". */
  readonly operation: string;
}

/** Describes one lock or side. `name` and `locks` are already checked. */
export function specOf(noun: string, checked: Pick<WebLockSpec, "kind" | "name" | "mode" | "locks">): WebLockSpec {
  const { name, mode } = checked;
  const facts = { isRemote: true, isExclusive: mode === "exclusive", sharedState: `web lock ${name}` };
  return { ...checked, operation: withName(`acquire ${noun}`, name), ...facts };
}

/** Checks a name: names that begin with a hyphen are reserved by the platform. */
export function checkWebName(name: unknown): asserts name is string {
  checkName(name);
  must(!name.startsWith("-"), "name", "not begin with a hyphen", name, RangeError);
}

/** The manager of the options, or the platform's. */
export function readLocks(className: string, options: WebRwLockOptions | undefined): WebLockManager {
  const { navigator } = globalThis as { navigator?: { locks?: WebLockManager } };
  const { locks = navigator?.locks } = checkOptions(options, "locks");
  if (locks === undefined) {
    const state = "this run-time has no navigator.locks (Deno, Node 24.5 or newer and HTTPS pages do); pass { locks }";
    throw new SyncError(`Cannot make ${className}: ${state}`);
  }
  must(typeof locks?.request === "function", "locks", "be a LockManager", locks);
  return locks;
}
