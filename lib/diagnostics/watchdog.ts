/**
 * Finds what hangs. Invariant: one timer, set for the oldest wait or hold that is not yet looked at, and none while
 * there is nothing to look at.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { checkBoolean, checkFunction, checkOptions, checkTimeout, must, option } from "../internal/check.ts";
import { Timer } from "../internal/timer.ts";
import { type Deadlock, findDeadlocks } from "./deadlock.ts";
import type { Acquisition } from "./acquisition.ts";
import { type Finding, heldLong, stuck, waitedLong, wrongRelease } from "./finding.ts";
import { hub } from "./hub.ts";
import { guard, type Listener, type WrongRelease } from "./listeners.ts";
import { firstFew, Overdue } from "./overdue.ts";
import { currentProcess } from "../internal/platform.ts";

/** Options of {@linkcode watchdog}. Times are in ms; `Infinity` turns a search off. */
export interface WatchdogOptions {
  /** How long a call may wait. Default: 10,000. */
  readonly waited?: number | undefined;
  /** How long a hold may last. Default: 10,000. */
  readonly held?: number | undefined;
  /**
   * How long a wait may last that is part of a deadlock. Default: 1,000. With "reject", a call that waits for what its own
   * `run` holds rejects at once with a {@linkcode DeadlockError}; other deadlocks are found after 1,000.
   */
  readonly self?: number | "reject" | undefined;
  /** Whether files and lines of callers are recorded, with a stack trace for each wait and each hold. Default: true. */
  readonly sites?: boolean | undefined;
  /** Called with each finding, in words and as an object. Default: `console.warn` with the words and the full paths. */
  readonly report?: ((message: string, finding: Finding) => void) | undefined;
}

/** A watchdog that is on. It ends when it is disposed of. */
export interface Watchdog extends Disposable {
  /** Everything that lasts too long or is stuck now, whether or not it was reported; the deadlocks come first. */
  findings(): Finding[];
}

/**
 * Reports what hangs, until the result is disposed of:
 *
 * - a hold or a wait that lasts longer than `held` or `waited`
 * - a call that waits for what its own `run` holds, and `run`s that wait for each other, after `self` ms
 * - `lock.release()` by a caller whose own `acquire` was refused, as in a `finally` after a time-out: it frees the hold of
 *   another caller
 * - where there is a `process`: any wait that is pending when the process has run out of work and ends
 *
 * Each finding is reported once, with the name of the lock, since when it lasts, and the file and line of both sides. While
 * it is on, the message of a TimeoutError ends with the holder: `…: timed out after 100 ms; held for 3204 ms, acquired
 * at checkout.ts:41`.
 *
 * With `self: "reject"` a call that waits for what its own `run` holds rejects at once, where no other holder could let it
 * go on: a lock, a key or a side of a RwLock that the run holds, a pool or semaphore all of whose slots its own runs have.
 *
 * A deadlock is recognized between calls of `run` only; with `acquire` its parts are found as long waits and holds. A
 * `run` that starts a call for its own lock and goes on without awaiting it looks like a deadlock: set `self` to more
 * than such a `run` takes, and not to "reject". One watchdog in a process is enough; it costs a stack trace for each wait
 * and each hold.
 *
 * @param options Limits in ms, and where to report to.
 * @throws {TypeError} for options of a wrong type.
 * @throws {RangeError} for a time that is NaN or negative.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 * import { watchdog } from "@interlock/interlock/diagnostics";
 *
 * using _watching = watchdog({ self: 50, report: (_, finding) => console.log(finding.kind) }); // self
 * const lock = new Lock({ name: "orders" });
 * await lock.run(() => lock.run(() => {}, { timeout: 200 })).catch((error) => console.log(error.name)); // TimeoutError
 * ```
 */
export function watchdog(options: WatchdogOptions = {}): Watchdog {
  checkOptions(options);
  const waited = option(options, "waited", 10_000);
  const held = option(options, "held", 10_000);
  const asked = option(options, "self", 1_000);
  const sites = option(options, "sites", true);
  const report = option(options, "report", warn);
  const rejects = asked === "reject";
  must(rejects || typeof asked === "number", "self", 'be a number or "reject"', asked);
  const self = rejects ? 1_000 : asked;
  for (const [name, value] of Object.entries({ waited, held, self })) checkTimeout(value, name);
  checkBoolean(sites, "sites");
  checkFunction(report, "report");
  return new Watcher({ waited, held, self }, { sites, rejects }, report);
}

function warn(message: string, { calls }: Finding): void {
  const sites = new Set(
    calls.flatMap(({ site }) => site === undefined ? [] : `${site.file}:${site.line}:${site.column}`),
  );
  console.warn([message, ...sites].join("\n    at "));
}

/** How many waits or holds are reported in one turn, so that thousands of them do not block the program. */
const MOST_REPORTS = 20;

/** How many places with a wrong release are reported. */
const MOST_PLACES = 100;

type Limits = Readonly<Record<"waited" | "held" | "self", number>>;

type Needs = Readonly<Record<"sites" | "rejects", boolean>>;

class Watcher implements Listener, Watchdog {
  readonly sites: boolean;
  readonly rejects: boolean;
  readonly frames = true;
  readonly #waits: Overdue;
  readonly #holds: Overdue;
  /** Waits inside of a `run`. */
  readonly #inRuns: Overdue;
  readonly #limits: Limits;
  readonly #report: (message: string, finding: Finding) => void;
  /** The least time between two looks, in ms. */
  readonly #pause: number;
  // A timer may be a little early by the monotonic clock; the time that it was set for counts as reached.
  readonly #timer = new Timer((at) => this.#look(Math.max(performance.now(), at)));
  readonly #listening: Disposable;
  /** Nothing is left that could end these waits. A pending promise keeps no process alive, so the end is silent. */
  readonly #onBeforeExit = (): void => this.#lookAtWaits(performance.now(), Infinity);
  /** Until it is disposed of, which `report` may do. */
  #isOn = true;
  /** Those in a deadlock, which is reported already. */
  readonly #stuck = new WeakSet<Acquisition>();
  /** Places that were reported. */
  readonly #wrongReleases = new Set<string>();

  constructor(limits: Limits, needs: Needs, report: (message: string, finding: Finding) => void) {
    const { waited, held, self } = this.#limits = limits;
    this.sites = needs.sites;
    this.rejects = needs.rejects;
    this.#waits = new Overdue(waited);
    this.#holds = new Overdue(held, isSamePlace);
    this.#inRuns = new Overdue(self, () => false);
    this.#report = report;
    this.#pause = Math.min(Math.max(1, Math.min(waited, held, self) / 4), 250);
    this.#listening = hub.listen(this);
    currentProcess()?.on?.("beforeExit", this.#onBeforeExit);
  }

  wait(_event: unknown, acquisition: Acquisition): void {
    this.#waits.add(acquisition);
    if (acquisition.origin.frame !== undefined) this.#inRuns.add(acquisition);
    this.#wakeUp();
  }

  grant(_event: unknown, acquisition: Acquisition): void {
    this.giveUp(_event, acquisition);
    if (acquisition.state !== "holds") return;
    this.#holds.add(acquisition);
    this.#wakeUp();
  }

  giveUp(_event: unknown, acquisition: Acquisition): void {
    this.#waits.delete(acquisition);
    this.#inRuns.delete(acquisition);
  }

  release(_event: unknown, acquisition: Acquisition): void {
    this.#holds.delete(acquisition);
  }

  wrongRelease(release: WrongRelease): void {
    const place = `${release.origin.site} ${release.hold.thing.label}`;
    if (!this.#isOn || this.#wrongReleases.has(place) || this.#wrongReleases.size === MOST_PLACES) return;
    this.#wrongReleases.add(place);
    this.#say(wrongRelease(release, performance.now()), []);
  }

  findings(): Finding[] {
    const now = performance.now();
    const { waited, held } = this.#limits;
    const deadlocks = this.#deadlocks(now);
    const known = new Set(deadlocks.flat().flatMap(({ hold, wait }) => [hold, wait]));
    const found = deadlocks.map((one) => stuck(one, now));
    const isLong = (one: Acquisition, limit: number) => now - one.since >= limit && !known.has(one);
    for (const { waits, holds } of hub.registry.groups) {
      const [first] = waits;
      if (first !== undefined && isLong(first, waited)) found.push(waitedLong(first, now));
      const long = firstFew(holds).filter((hold) => isLong(hold, held));
      const places = long.filter((hold, i) => long.findIndex((other) => isSamePlace(other, hold)) === i);
      found.push(...places.map((hold) => heldLong(hold, now)));
    }
    return found;
  }

  [DISPOSE](): void {
    this.#isOn = false;
    currentProcess()?.off?.("beforeExit", this.#onBeforeExit);
    this.#listening[DISPOSE]();
    this.#timer.clear();
  }

  #wakeUp(): void {
    const next = Math.min(this.#waits.next, this.#holds.next, this.#inRuns.next);
    if (this.#isOn && next < this.#timer.at - this.#pause) {
      this.#timer.set(Math.max(next, performance.now() + this.#pause));
    }
  }

  #look(now: number): void {
    this.#lookAtWaits(now, now);
    for (const hold of this.#holds.take(now, MOST_REPORTS)) this.#say(heldLong(hold, now), [hold]);
    this.#wakeUp();
  }

  /** @param due The time by which they have lasted too long. */
  #lookAtWaits(now: number, due: number): void {
    if (this.#inRuns.take(due).length > 0) this.#lookForDeadlocks(now, due);
    const before = due > now ? "the process ends while " : "";
    for (const wait of this.#waits.take(due, MOST_REPORTS)) this.#say(waitedLong(wait, now, before), [wait]);
  }

  #deadlocks(due: number): Deadlock[] {
    const { self } = this.#limits;
    return self === Infinity ? [] : findDeadlocks(hub.registry, due - self);
  }

  #lookForDeadlocks(now: number, due: number): void {
    for (const deadlock of this.#deadlocks(due)) {
      const acquisitions = deadlock.flatMap(({ hold, wait }) => [hold, wait]);
      this.#say(stuck(deadlock, now), acquisitions);
      for (const acquisition of acquisitions) this.#stuck.add(acquisition);
    }
  }

  #say(finding: Finding, about: readonly Acquisition[]): void {
    if (!this.#isOn || (about.length > 0 && about.every((acquisition) => this.#stuck.has(acquisition)))) return;
    guard(() => this.#report(finding.message, finding));
  }
}

function isSamePlace(one: Acquisition, other: Acquisition): boolean {
  return `${one.site}` === `${other.site}`;
}
