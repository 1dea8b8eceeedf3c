/**
 * Reports hangs. Invariant: while a wait or hold is not too old yet, one timer is set for a search when the oldest of
 * them becomes too old, or earlier.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { checkBoolean, checkFunction, checkOptions, checkTimeout, must } from "../internal/check.ts";
import { Timer } from "../internal/timer.ts";
import type { Acquisition } from "./acquisition.ts";
import { type Finding, wrongReleaseFinding } from "./finding.ts";
import { hub } from "./hub.ts";
import { type Listener, withoutThrowing, type WrongRelease } from "./listeners.ts";
import { type Limits, Search } from "./search.ts";
import { currentProcess } from "../internal/platform.ts";

/** Options of {@linkcode watchdog}. Times are in ms; `Infinity` turns a search off. */
export interface WatchdogOptions {
  /** How long a call may wait, in ms. Default: 10,000. */
  readonly waited?: number | undefined;
  /** How long a hold may last, in ms. Default: 10,000. */
  readonly held?: number | undefined;
  /**
   * How long a wait in a deadlock may last, in ms. Default: 1,000. With "reject", a call that would wait for a hold of
   * its own `run` rejects at once with a {@linkcode DeadlockError}; other deadlocks are reported after 1,000 ms.
   */
  readonly self?: number | "reject" | undefined;
  /** Whether to record callers' files and lines, by a stack trace for each wait and each hold. Default: true. */
  readonly sites?: boolean | undefined;
  /**
   * Called with each finding, as a message and as an object. Default: `console.warn` with the message and full paths.
   */
  readonly report?: ((message: string, finding: Finding) => void) | undefined;
}

/** A running watchdog. Disposing of it ends it. */
export interface Watchdog extends Disposable {
  /**
   * All waits and holds that last too long or are stuck now, whether or not they were reported; deadlocks come first.
   */
  findings(): Finding[];
}

/**
 * Reports hangs until the result is disposed of:
 *
 * - a hold or a wait that lasts longer than `held` or `waited`
 * - a call that waits for a hold of its own `run`, and `run`s that wait for each other, after `self` ms
 * - `lock.release()` by a caller whose own `acquire` was refused, as in a `finally` after a time-out: it frees another
 *   caller's hold
 * - on platforms with a `process`: any wait that is pending when the process runs out of work and ends
 *
 * Each finding is reported once, with the name of the lock, its duration, and the file and line of both sides. While
 * the watchdog is on, the message of a `TimeoutError` ends with the holder:
 * `…: timed out after 100 ms; held for 3204 ms, acquired at checkout.ts:41`.
 *
 * With `self: "reject"`, a call that would wait for a hold of its own `run` rejects at once if no other release could
 * grant it. This covers a lock, a key or a side of a RwLock that the run holds, and a pool or semaphore with all slots
 * taken by its own runs.
 *
 * Deadlocks are recognized only between calls of `run`; with `acquire` they show up as long waits and holds. A `run`
 * that starts a call for its own lock without awaiting it looks like a deadlock: set `self` to more than such a `run`
 * takes, not to "reject". One watchdog per process is enough; it costs a stack trace for each wait and each hold.
 *
 * @param options Limits in ms, and the function to report to.
 * @returns The running watchdog. Disposing of it ends it.
 * @throws {TypeError} when an option has a wrong type.
 * @throws {RangeError} when a time is NaN or negative.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 * import { watchdog } from "@interlock/interlock/diagnostics";
 *
 * using _watching = watchdog({
 *   self: 50,
 *   report: (_, { kind }) => console.log(kind), // self
 * });
 * const lock = new Lock({ name: "orders" });
 * const hanging = lock.run(() => lock.run(() => {}, { timeout: 200 }));
 * await hanging.catch(({ name }) => console.log(name)); // TimeoutError
 * ```
 */
export function watchdog(options: WatchdogOptions = {}): Watchdog {
  const given = checkOptions(options, "waited");
  const { waited = 10_000, held = 10_000, self: selfOption = 1_000, sites = true, report = warn } = given;
  const rejects = selfOption === "reject";
  must(rejects || typeof selfOption === "number", "self", 'be a number of milliseconds or "reject"', selfOption);
  const self = rejects ? 1_000 : selfOption;
  for (const [name, value] of Object.entries({ waited, held, self })) checkTimeout(value, name);
  checkBoolean(sites, "sites");
  checkFunction(report, "report");
  return new Watcher({ waited, held, self }, sites, rejects, report);
}

function warn(message: string, { calls }: Finding): void {
  const sites = new Set(
    calls.flatMap(({ site }) => site === undefined ? [] : `${site.file}:${site.line}:${site.column}`),
  );
  console.warn([message, ...sites].join("\n    at "));
}

/** Maximum number of reports of one kind in one turn, so that thousands of waits do not block the program. */
const MOST_REPORTS = 20;

/** Maximum number of places with a wrong release to report. */
const MOST_PLACES = 100;

type Report = (message: string, finding: Finding) => void;

class Watcher implements Listener, Watchdog {
  readonly sites: boolean;
  readonly rejects: boolean;
  readonly runs = true;
  readonly #limits: Limits;
  readonly #search: Search;
  readonly #report: Report;
  /** Minimum time between two searches, in ms. */
  readonly #pause: number;
  // A timer may fire slightly early by the monotonic clock, so its set time counts as reached.
  readonly #timer = new Timer((at) => this.#check(Math.max(performance.now(), at)));
  readonly #listening: Disposable;
  /**
   * Reports waits of any age: nothing is left that could end them. A pending promise does not keep a process alive, so
   * the process would end silently.
   */
  readonly #onBeforeExit = (): void => this.#reportAll(this.#search.take(performance.now(), Number.MAX_VALUE));
  /** False once it is disposed of, which `report` may do. */
  #isOn = true;
  /** Places that were already reported. */
  readonly #reportedPlaces = new Set<string>();

  constructor(limits: Limits, sites: boolean, rejects: boolean, report: Report) {
    this.#limits = limits;
    this.sites = sites;
    this.rejects = rejects;
    this.#report = report;
    this.#search = new Search(limits);
    this.#pause = Math.min(Math.max(1, Math.min(...Object.values(limits)) / 4), 250);
    this.#listening = hub.listen(this);
    currentProcess()?.on?.("beforeExit", this.#onBeforeExit);
  }

  wait(_event: unknown, { since }: Acquisition): void {
    this.#searchAt(since + Math.min(this.#limits.waited, this.#limits.self));
  }

  grant(_event: unknown, { since, state }: Acquisition): void {
    if (state === "holds") this.#searchAt(since + this.#limits.held);
  }

  wrongRelease(release: WrongRelease): void {
    const place = `${release.origin.site} ${release.hold.thing.label}`;
    if (!this.#isOn || this.#reportedPlaces.has(place) || this.#reportedPlaces.size === MOST_PLACES) return;
    this.#reportedPlaces.add(place);
    this.#reportAll([wrongReleaseFinding(release, performance.now())]);
  }

  findings(): Finding[] {
    return new Search(this.#limits).take(performance.now());
  }

  [DISPOSE](): void {
    this.#isOn = false;
    currentProcess()?.off?.("beforeExit", this.#onBeforeExit);
    this.#listening[DISPOSE]();
    this.#timer.clear();
  }

  /** Sets the timer to a search at `due`, unless an earlier search or one soon after is set. */
  #searchAt(due: number): void {
    if (this.#isOn && due < this.#timer.at - this.#pause) {
      this.#timer.set(Math.max(due, performance.now() + this.#pause));
    }
  }

  #check(now: number): void {
    this.#reportAll(this.#search.take(now, now, MOST_REPORTS));
    this.#searchAt(this.#search.next);
  }

  #reportAll(findings: readonly Finding[]): void {
    for (const finding of findings) if (this.#isOn) withoutThrowing(() => this.#report(finding.message, finding));
  }
}
