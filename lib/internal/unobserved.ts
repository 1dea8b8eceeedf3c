/**
 * Unobserved failures of a pool or a task group. None is swallowed: a failure that no `join` has taken is reported when
 * it is overdue, and again when the process runs out of work. Reporting does not keep the process alive; without a
 * `process` there is none. Memory is bounded.
 *
 * @module
 */
import { SyncError } from "../errors.ts";
import { type CancelWatch, onCancel } from "./cancellation.ts";
import { quote } from "./check.ts";
import { currentProcess, throwUncaught, warn } from "./platform.ts";

/** Maximum number of failures that an owner keeps, and of owners that are asked when the process runs out of work. */
const MAX_KEPT = 1000;
/** Milliseconds after which an unobserved failure is overdue. */
const OVERDUE_AFTER = 10_000;

interface Failure {
  readonly error: unknown;
  /** Reports the failure when it is overdue. */
  timer: CancelWatch | undefined;
}

/** The error that one `join` throws. */
export interface TakenFailures {
  readonly errors: readonly unknown[];
  /** The number of failures beyond those in `errors`. */
  readonly more: number;
}

export class UnobservedFailures {
  /** Keyed by the task or map that failed, in order of failure. */
  readonly #failures = new Map<object, Failure>();
  /** Sources of the failures that came when #failures was full, and the number of those failures. */
  #sourcesBeyond = new WeakSet<object>();
  #more = 0;
  #hasWarned = false;
  readonly #owner: string;
  readonly #isJoined: () => boolean;
  readonly #remedy: string;
  readonly #areThrown: boolean;

  /**
   * @param owner The pool or task group in messages.
   * @param isJoined Whether a call waits that will throw the failures when all work has ended.
   * @param remedy How to observe a failure, for the warning.
   * @param areThrown Whether they become uncaught errors when the process runs out of work. If not, there is one
   *   warning in all.
   */
  constructor(owner: string, isJoined: () => boolean, remedy: string, areThrown: boolean) {
    this.#owner = owner;
    this.#isJoined = isJoined;
    this.#remedy = remedy;
    this.#areThrown = areThrown;
  }

  /** Keeps a failure until it is observed. @param canBeOverdue False if a `join` follows in any case. */
  add(source: object, error: unknown, canBeOverdue = true): void {
    const failure = this.keep(source, error);
    if (currentProcess()?.on === undefined) return; // browsers lack it, and bundlers replace it by one without events
    askAtExit(this);
    if (failure !== undefined && canBeOverdue && !this.#hasWarned) this.#watch(failure);
  }

  /**
   * Keeps a failure for `join` without reporting it: a map's error may still be read. Returns undefined beyond the
   * first MAX_KEPT.
   */
  keep(source: object, error: unknown): Failure | undefined {
    if (this.#failures.size < MAX_KEPT) {
      const failure: Failure = { error, timer: undefined };
      this.#failures.set(source, failure);
      return failure;
    }
    this.#sourcesBeyond.add(source);
    this.#more++;
    return undefined;
  }

  /** Drops the failure of `source`: it is observed. */
  observe(source: object): void {
    this.#failures.get(source)?.timer?.end();
    this.#failures.delete(source);
    if (this.#sourcesBeyond.delete(source)) this.#more--;
    if (this.#failures.size + this.#more === 0) forgetAtExit(this);
  }

  /** Takes all failures for one `join`. */
  take(): TakenFailures {
    const taken = { errors: [...this.#failures.values()].map(({ error }) => error), more: this.#more };
    this.#sourcesBeyond = new WeakSet();
    this.#more = 0;
    for (const source of this.#failures.keys()) this.observe(source); // ends their timers
    forgetAtExit(this);
    return taken;
  }

  onExit(): void {
    const { errors, more } = this.take();
    if (!this.#areThrown) return this.#warn("until the process ran out of work", errors[0]);
    for (const error of errors) throwUncaught(error);
    if (more === 0) return;
    const problem = `failures beyond the first ${MAX_KEPT} were not observed: ${more}`;
    throwUncaught(new SyncError(`Cannot end ${this.#owner}: ${problem}`));
  }

  #watch(failure: Failure): void {
    failure.timer = onCancel({ timeout: OVERDUE_AFTER, keepsAlive: false }, () => {
      if (this.#isJoined()) this.#watch(failure); // `join` may still be cancelled
      else if (!this.#hasWarned) this.#warn(`for ${OVERDUE_AFTER / 1000} s`, failure.error);
    });
  }

  #warn(when: string, error: unknown): void {
    this.#hasWarned = true;
    if (!this.#areThrown) forgetAtExit(this);
    const remedy = this.#isJoined() ? "it still waits for its tasks" : this.#remedy;
    warn(`Failure in ${this.#owner} not observed ${when}: ${describe(error)}; ${remedy}`, "INTERLOCK_UNOBSERVED");
  }
}

/** Formats an error in one line. */
function describe(error: unknown): string {
  try {
    return quote(String(error));
  } catch { // no text can be made of it
    return quote(error);
  }
}

/** The process has the listener exactly while this is not empty. */
const askedAtExit = /* @__PURE__ */ new Set<UnobservedFailures>();

function askAtExit(failures: UnobservedFailures): void {
  if (askedAtExit.size >= MAX_KEPT) return;
  if (askedAtExit.size === 0) currentProcess()!.on!("beforeExit", onBeforeExit);
  askedAtExit.add(failures);
}

function forgetAtExit(failures: UnobservedFailures): void {
  if (askedAtExit.delete(failures) && askedAtExit.size === 0) currentProcess()?.off?.("beforeExit", onBeforeExit);
}

function onBeforeExit(): void {
  for (const failures of [...askedAtExit]) failures.onExit();
}
