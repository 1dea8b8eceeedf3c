/**
 * The failures of a pool that are not observed yet. No failure is swallowed: one that no `join` has taken is reported when
 * it is overdue, and thrown when the process runs out of work. Neither keeps the process alive, and memory is bounded.
 *
 * @module
 */
import { type CancelRegistration, onCancel } from "../internal/cancellation.ts";
import { quote } from "../internal/check.ts";
import { SyncError } from "../errors.ts";
import { currentProcess, throwUncaught, warn } from "../internal/platform.ts";

/** The most failures that a pool keeps, and the most pools whose failures are thrown at the end of the process. */
const MOST = 1000;
/** Milliseconds after which an unobserved failure is reported. */
const OVERDUE = 10_000;

/** The pool, as its failures need it. */
interface FailingPool {
  /** "pool", with its name. */
  readonly title: string;
  /** Whether a call of `join` waits: it will get the failures. */
  readonly isJoined: boolean;
}

interface Failure {
  readonly error: unknown;
  /** The wait until it is overdue; undefined where nothing is reported. */
  report: CancelRegistration | undefined;
}

/** The error that one `join` throws. */
export interface TakenFailures {
  readonly errors: readonly unknown[];
  /** How many more there were. */
  readonly more: number;
}

export class Failures {
  /** By the task or map that failed, in the order in which it happened. */
  readonly #kept = new Map<object, Failure>();
  /** The owners of those that came when #kept was full, and their number. */
  #others = new WeakSet<object>();
  #more = 0;
  #isReported = false;
  readonly #pool: FailingPool;

  constructor(pool: FailingPool) {
    this.#pool = pool;
  }

  /** Keeps a failure until it is observed. */
  add(owner: object, error: unknown): void {
    const failure = this.keep(owner, error);
    if (currentProcess()?.on === undefined) return;
    throwAtExit(this);
    if (failure !== undefined && !this.#isReported) this.#watch(failure);
  }

  /** The outcome of `owner` is observed. */
  observe(owner: object): void {
    this.#kept.get(owner)?.report?.end();
    this.#kept.delete(owner);
    if (this.#others.delete(owner)) this.#more--;
    if (this.#kept.size + this.#more === 0) forgetAtExit(this);
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

  /** The process has run out of work: no `join` will come. */
  throwAll(): void {
    const { errors, more } = this.take();
    for (const error of errors) throwUncaught(error);
    if (more === 0) return;
    throwUncaught(
      new SyncError(`Cannot end ${this.#pool.title}: failures beyond the first ${MOST} were not observed: ${more}`),
    );
  }

  /** Keeps it for `join` only, as the error of a map that may still be read. Returns undefined beyond the first MOST. */
  keep(owner: object, error: unknown): Failure | undefined {
    if (this.#kept.size < MOST) {
      const failure: Failure = { error, report: undefined };
      this.#kept.set(owner, failure);
      return failure;
    }
    this.#others.add(owner);
    this.#more++;
    return undefined;
  }

  #watch(failure: Failure): void {
    failure.report = onCancel({ timeout: OVERDUE, keepsAlive: false }, () => {
      if (this.#pool.isJoined) this.#watch(failure);
      else if (!this.#isReported) this.#report(failure.error);
    });
  }

  #report(error: unknown): void {
    this.#isReported = true;
    const failure = `Failure in ${this.#pool.title} not observed for ${OVERDUE / 1000} s: ${describe(error)}`;
    warn(`${failure}; await the pool's join(), or the result of each task`, "INTERLOCK_UNOBSERVED");
  }
}

/** An error in one line. */
function describe(error: unknown): string {
  try {
    return quote(String(error));
  } catch {
    return quote(error);
  }
}

/** The pools with failures to throw at the end. The process carries the listener exactly while there are any. */
const failing = /* @__PURE__ */ new Set<Failures>();

function throwAtExit(failures: Failures): void {
  if (failing.size === 0) currentProcess()?.on?.("beforeExit", onBeforeExit);
  if (failing.size < MOST) failing.add(failures);
}

function forgetAtExit(failures: Failures): void {
  if (failing.delete(failures) && failing.size === 0) currentProcess()?.off?.("beforeExit", onBeforeExit);
}

function onBeforeExit(): void {
  for (const failures of [...failing]) failures.throwAll();
}
