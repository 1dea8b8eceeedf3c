/**
 * The failures of a pool that are not observed yet. No failure is swallowed: one that no `join` has taken is reported when
 * it is overdue, and thrown when the process runs out of work. Memory is bounded.
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

/** The most failures that a pool keeps. */
const MOST = 1000;

interface Failure {
  readonly error: unknown;
  /** Ends the wait until it is overdue; undefined where nothing is reported. */
  stop: (() => void) | undefined;
}

/** The error that one `join` throws. */
export interface TakenFailures {
  readonly errors: readonly unknown[];
  /** How many more there were. */
  readonly more: number;
}

export class Failures implements Failing {
  /** By the task or map that failed, in the order in which it happened. */
  readonly #kept = new Map<object, Failure>();
  /** The owners of those that came when #kept was full, and their number. */
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

  /** How many there are. */
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

  /** The outcome of `owner` is observed. */
  observe(owner: object): void {
    this.#kept.get(owner)?.stop?.();
    this.#kept.delete(owner);
    if (this.#others.delete(owner)) this.#more--;
    if (this.size === 0) forgetAtExit(this);
  }

  /** Takes all, for one `join`. */
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

  /** Keeps it for `join` only, as the error of a map that may still be read. Returns undefined beyond the first MOST. */
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
