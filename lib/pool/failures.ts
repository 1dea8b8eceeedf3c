/**
 * Unobserved failures of a pool. None is swallowed: a failure that no `join` has taken is reported when it is overdue,
 * and thrown when the process runs out of work. Memory is bounded.
 *
 * @module
 */
import { SyncError } from "../errors.ts";
import { throwUncaught } from "../internal/platform.ts";
import {
  askAtExit,
  type Failing,
  FOR_LONG,
  forgetAtExit,
  warnUnobserved,
  whenOverdue,
} from "../internal/unobserved.ts";

/** Maximum number of failures that a pool keeps. */
const MOST = 1000;

interface Failure {
  readonly error: unknown;
  /** Cancels the overdue report; undefined if none is pending. */
  stop: (() => void) | undefined;
}

/** The error that one `join` throws. */
export interface TakenFailures {
  readonly errors: readonly unknown[];
  /** The number of failures beyond those in `errors`. */
  readonly more: number;
}

export class Failures implements Failing {
  /** Keyed by the task or map that failed, in order of failure. */
  readonly #kept = new Map<object, Failure>();
  /** Owners of the failures that came when #kept was full, and the number of those failures. */
  #others = new WeakSet<object>();
  #more = 0;
  #isReported = false;
  readonly #pool: Omit<Failing, "onExit">;

  constructor(pool: Omit<Failing, "onExit">) {
    this.#pool = pool;
  }

  get title(): string {
    return this.#pool.title;
  }

  get isJoined(): boolean {
    return this.#pool.isJoined;
  }

  /** The number of unobserved failures. */
  get size(): number {
    return this.#kept.size + this.#more;
  }

  /** Keeps a failure until it is observed. */
  add(owner: object, error: unknown): void {
    const failure = this.keep(owner, error);
    askAtExit(this);
    if (failure === undefined || this.#isReported) return;
    failure.stop = whenOverdue(this, () => {
      if (this.#isReported) return;
      this.#isReported = true;
      warnUnobserved(this, FOR_LONG, error, "await the pool's join(), or the result of each task");
    });
  }

  /** Drops the failure of `owner`: it is observed. */
  observe(owner: object): void {
    this.#kept.get(owner)?.stop?.();
    this.#kept.delete(owner);
    if (this.#others.delete(owner)) this.#more--;
    if (this.size === 0) forgetAtExit(this);
  }

  /** Takes all failures for one `join`. */
  take(): TakenFailures {
    const taken = { errors: [...this.#kept.values()].map(({ error }) => error), more: this.#more };
    this.#others = new WeakSet();
    this.#more = 0;
    for (const owner of this.#kept.keys()) this.observe(owner);
    forgetAtExit(this);
    return taken;
  }

  onExit(): void {
    const { errors, more } = this.take();
    for (const error of errors) throwUncaught(error);
    if (more === 0) return;
    throwUncaught(
      new SyncError(`Cannot end ${this.title}: failures beyond the first ${MOST} were not observed: ${more}`),
    );
  }

  /**
   * Keeps a failure for `join` without reporting it: a map's error may still be read. Returns undefined beyond the
   * first MOST.
   */
  keep(owner: object, error: unknown): Failure | undefined {
    if (this.#kept.size < MOST) {
      const failure: Failure = { error, stop: undefined };
      this.#kept.set(owner, failure);
      return failure;
    }
    this.#others.add(owner);
    this.#more++;
    return undefined;
  }
}
