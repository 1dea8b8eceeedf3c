/**
 * Several holds as one, acquired in an order common to all callers. Invariant: a call has all holds of its list, or
 * gives back those that it has.
 *
 * @module
 */
import { checkArray, checkOwn, isThenable, readWaitOptions, throwIfAborted } from "./internal/check.ts";
import { onCancel, reasonOf } from "./internal/cancellation.ts";
import { ASYNC_DISPOSE } from "./internal/dispose.ts";
import { inLockOrder, type OrderedLock } from "./internal/lock_order.ts";
import { sharedController } from "./internal/platform.ts";
import { printAs } from "./internal/show.ts";
import { TimeoutError } from "./errors.ts";
import type { Acquirable, WaitOptions } from "./types.ts";

/** A guard or a lease. */
export interface AnyGuard extends AsyncDisposable {
  /** Whether the hold still lasts. */
  readonly held: boolean;
  /** Gives the hold back. Idempotent. */
  release(): unknown;
}

/** The guards of a list, in its order. */
export type GuardsOf<L extends readonly Acquirable<AnyGuard>[]> = {
  readonly [I in keyof L]: Awaited<ReturnType<L[I]["acquire"]>>;
};

/**
 * The holds of one {@linkcode acquireAll} call.
 *
 * @typeParam G The guards, in the order of the list.
 */
export interface GuardGroup<G extends readonly AnyGuard[]> extends AsyncDisposable {
  /** The guards in the order of the list. */
  readonly guards: G;
  /** Whether all guards are still held. */
  readonly held: boolean;
  /**
   * Aborts when a lease is lost, with the reason of the first lost lease. Local guards and `release()` never abort it.
   */
  readonly signal: AbortSignal;
  /**
   * Releases all holds, the latest first, and resolves when that is done. Idempotent. If a release fails, it still
   * releases the rest, then rejects with the error, or with an AggregateError for several.
   */
  release(): Promise<void>;
}

/**
 * Acquires several locks, permits and keys together. Callers may list them in any order and cannot deadlock with each
 * other. The call acquires them one at a time, in an order common to all callers, local before remote.
 *
 * `list` takes locks, semaphores (one permit), sides of a read-write lock and keys ({@linkcode KeyedMutex.at}), local
 * and over Redis. A {@linkcode Condition} is not acquired itself: list its lock.
 *
 * `acquireAll` does not help with locks that are acquired separately: a caller that holds one lock and then acquires
 * another can still deadlock. Across processes, locks with the same name and prefix on two Redis servers have no common
 * order.
 *
 * **Fairness**: each lock serves its own queue, first come, first served. While a call waits for one lock, it already
 * holds the locks before it.
 *
 * **Cancellation**: on abort or time-out the call releases everything it has acquired, then rejects. `timeout` bounds
 * the whole wait and overrides the time of a TimeoutLock.
 *
 * @param list The locks, permits and keys to hold. May be empty.
 * @param options When to stop waiting; `timeout` in milliseconds.
 * @returns The holds. If the call fails, errors while releasing never replace its cause.
 * @throws {TimeoutError} when the timeout has passed.
 * @throws {signal.reason} when the signal aborts.
 * @throws {ClosedError} when one of the locks is closed. If it is closed at the time of the call, the call rejects at
 *   once.
 * @throws {QueueFullError} when the queue of one of the locks is full.
 * @throws {RedisError} when Redis refuses the command of one of its locks, or could not be reached for one `ttl`.
 * @throws {TypeError} when `list` is not an array, contains the same lock twice (the same key of one mutex, both sides of
 *   one RwLock) or anything that it cannot take, or when an option has a wrong type.
 * @throws {RangeError} when `timeout` is NaN or negative.
 * @example
 * ```ts
 * import { acquireAll, KeyedMutex } from "@interlock/interlock";
 *
 * const accounts = new KeyedMutex<string>();
 * const balances = new Map([["ada", 100], ["bob", 0]]);
 *
 * async function transfer(from: string, to: string, amount: number) {
 *   const both = [accounts.at(from), accounts.at(to)];
 *   await using _ = await acquireAll(both, { timeout: 1000 });
 *   balances.set(from, balances.get(from)! - amount);
 *   balances.set(to, balances.get(to)! + amount);
 * }
 * await Promise.all([
 *   transfer("ada", "bob", 30),
 *   transfer("bob", "ada", 10),
 * ]);
 * console.log([...balances.values()]); // [ 80, 20 ]
 * ```
 */
export async function acquireAll<L extends readonly Acquirable<AnyGuard>[]>(
  list: readonly [...L],
  options?: WaitOptions,
): Promise<GuardGroup<GuardsOf<L>>> {
  checkArray(list, "list", "be an array such as [a, b]");
  const acquirables: L[number][] = [...list];
  const limits = readWaitOptions(options);
  const locks = inLockOrder(acquirables);
  const guards: AnyGuard[] = [];
  try {
    const closedLock = locks.find(({ lock }) => (lock as { readonly closed?: boolean }).closed);
    if (closedLock !== undefined) await closedLock.lock.acquire(); // rejects at once
    throwIfAborted(limits); // the list may be empty
    const deadline = limits === undefined ? Infinity : performance.now() + limits.timeout;
    for (let i = 0; i < locks.length; i++) {
      const { lock, index, remote } = locks[i]!;
      const next = nextOptions(limits, deadline);
      // A free local lock is taken in the caller's own turn, so that a later call cannot overtake.
      const guard = remote === "" ? lock.tryAcquire() as AnyGuard | undefined : undefined;
      guards[index] = guard ?? await lock.acquire(next);
    }
    return new Group(guards, locks) as unknown as GuardGroup<GuardsOf<L>>;
  } catch (error) {
    await giveBack(guards, locks); // errors of release must not replace the cause
    const { timeout = Infinity, signal } = limits ?? {};
    const isOwnTimeout = timeout < Infinity && error instanceof TimeoutError &&
      (signal === undefined || error !== reasonOf(signal)); // a reason is passed on, even if it is a TimeoutError
    throw isOwnTimeout ? timedOutAll(timeout, error) : error;
  }
}

/** The options for the next acquisition. */
function nextOptions(limits: ReturnType<typeof readWaitOptions>, deadline: number): WaitOptions | undefined {
  if (limits === undefined) return undefined;
  throwIfAborted(limits); // a free lock is acquired without checking it
  const { signal, timeout } = limits;
  if (timeout === Infinity) return { signal };
  return { signal, timeout: Math.min(timeout, Math.max(0, deadline - performance.now())) };
}

/** The message of the inner time-out names the lock and, while a watchdog is on, ends with its holder. */
function timedOutAll(timeout: number, cause: TimeoutError): TimeoutError {
  const [, lock, holder = ""] = /^Cannot acquire (.*): timed out after \S+ ms(;.*)?$/.exec(cause.message) ?? [];
  const waitedFor = lock === undefined ? "" : ` waiting for ${lock}${holder}`;
  return new TimeoutError(`Cannot acquire all: timed out after ${timeout} ms${waitedFor}`, { cause });
}

type Outcomes = readonly PromiseSettledResult<unknown>[];

/** Releases the guards, the latest first. Returns undefined if all releases were synchronous. */
function giveBack(guards: readonly AnyGuard[], locks: readonly OrderedLock<unknown>[]): Promise<Outcomes> | undefined {
  let releases: Promise<unknown>[] | undefined;
  for (let i = locks.length - 1; i >= 0; i--) {
    try {
      const released = guards[locks[i]!.index]?.release();
      if (isThenable(released)) (releases ??= []).push(Promise.resolve(released));
    } catch (error) {
      (releases ??= []).push(Promise.reject(error));
    }
  }
  return releases && Promise.allSettled(releases);
}

class Group implements GuardGroup<readonly AnyGuard[]> {
  readonly #guards: readonly AnyGuard[];
  readonly #locks: readonly OrderedLock<unknown>[];
  /** Set by the first call of `release`. */
  #released: Promise<void> | undefined;
  #controller: AbortController | undefined;

  constructor(guards: readonly AnyGuard[], locks: readonly OrderedLock<unknown>[]) {
    this.#guards = guards;
    this.#locks = locks;
  }

  get guards(): readonly AnyGuard[] {
    return Object.freeze(this.#guards); // on demand: freezing is slow, and `guards` is seldom read
  }

  get held(): boolean {
    return this.#released === undefined && this.#guards.every(({ held }) => held);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = this.#controller = sharedController();
      for (const { signal } of this.#guards as readonly { readonly signal?: AbortSignal }[]) {
        if (signal?.aborted) controller.abort(reasonOf(signal));
        else if (signal !== undefined) onCancel({ signal }, () => controller.abort(reasonOf(signal)));
      }
    }
    return this.#controller.signal;
  }

  release(): Promise<void> {
    checkOwn(this, Group);
    return this.#released ??= giveBack(this.#guards, this.#locks)?.then(throwErrors) ?? Promise.resolve();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.release();
  }
}
printAs(Group, "GuardGroup", ["held", "guards"]);

function throwErrors(outcomes: Outcomes): void {
  const errors = outcomes.flatMap((outcome) => outcome.status === "rejected" ? [outcome.reason] : []);
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `Cannot release all: ${errors.length} releases failed`);
}
