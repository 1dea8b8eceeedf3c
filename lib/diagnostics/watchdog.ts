/**
 * Finds what hangs. Invariant: one timer, set for the oldest wait or hold that is not yet looked at, and none while
 * there is nothing to look at.
 *
 * @module
 */
import { checkFunction, checkOptions, checkTimeout } from "../internal/check.ts";
import { findDeadlocks } from "./deadlock.ts";
import type { Entry } from "./entry.ts";
import { type Finding, heldLong, stuck, waitedLong } from "./finding.ts";
import { hub } from "./hub.ts";
import type { Listener } from "./listeners.ts";
import { Overdue } from "./overdue.ts";
import { throwUncaught } from "./platform.ts";
import { WatchTimer } from "./watch_timer.ts";

/** Options of {@linkcode watchdog}. Times are in ms; `Infinity` turns a search off. */
export interface WatchdogOptions {
  /** How long a call may wait. Default: 10,000. */
  readonly waited?: number | undefined;
  /** How long a hold may last. Default: 10,000. */
  readonly held?: number | undefined;
  /** How long a wait may last that is part of a deadlock. Default: 1,000. */
  readonly self?: number | undefined;
  /** Called with each finding, in words and as an object. Default: `console.warn` with the words and the full paths. */
  readonly report?: ((message: string, finding: Finding) => void) | undefined;
}

/**
 * Reports what hangs, until the result is disposed of:
 *
 * - a hold or a wait that lasts longer than `held` or `waited`
 * - a call that waits for what its own `run` holds, and `run`s that wait for each other, after `self` ms
 *
 * Each finding is reported once, with the thing's name, since when it lasts, and the file and line of both sides. While
 * it is on, the message of a TimeoutError ends with the holder: `…: timed out after 100 ms; held for 3204 ms, acquired
 * at checkout.ts:41`.
 *
 * A deadlock is recognized between calls of `run` only; with `acquire` its parts are found as long waits and holds. A
 * `run` that starts a call for its own lock and goes on without awaiting it looks like a deadlock: set `self` to more
 * than such a `run` takes. One watchdog in a process is enough; it costs a stack trace for each wait and each hold.
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
export function watchdog(options: WatchdogOptions = {}): Disposable {
  checkOptions(options);
  const { waited = 10_000, held = 10_000, self = 1_000, report = warn } = options;
  for (const [name, value] of Object.entries({ waited, held, self })) checkTimeout(value, name);
  checkFunction(report, "report");
  return new Watchdog({ waited, held, self }, report);
}

function warn(message: string, { calls }: Finding): void {
  const sites = new Set(
    calls.flatMap(({ site }) => site === undefined ? [] : `${site.file}:${site.line}:${site.column}`),
  );
  console.warn([message, ...sites].join("\n    at "));
}

/** How many waits or holds are reported in one turn, so that thousands of them do not block the program. */
const MOST_REPORTS = 20;

type Limits = Readonly<Record<"waited" | "held" | "self", number>>;

class Watchdog implements Listener, Disposable {
  readonly sites = true;
  readonly frames = true;
  readonly #waits: Overdue;
  readonly #holds: Overdue;
  /** Waits inside of a `run`. */
  readonly #inRuns: Overdue;
  readonly #self: number;
  readonly #report: (message: string, finding: Finding) => void;
  readonly #timer: WatchTimer;
  readonly #listening: Disposable;
  /** Those in a deadlock that was reported: that they last long is no news. */
  readonly #stuck = new WeakSet<Entry>();

  constructor({ waited, held, self }: Limits, report: (message: string, finding: Finding) => void) {
    this.#waits = new Overdue(waited);
    this.#holds = new Overdue(held, (one, other) => `${one.origin.site}` === `${other.origin.site}`);
    this.#inRuns = new Overdue(self, () => false);
    this.#self = self;
    this.#report = report;
    this.#timer = new WatchTimer(
      Math.min(Math.max(1, Math.min(waited, held, self) / 4), 250),
      (now) => this.#look(now),
    );
    this.#listening = hub.listen(this);
  }

  wait(_event: unknown, entry: Entry): void {
    this.#waits.add(entry);
    if (entry.origin.frame !== undefined) this.#inRuns.add(entry);
    this.#wakeUp();
  }

  grant(_event: unknown, entry: Entry): void {
    this.giveUp(_event, entry);
    if (entry.state !== "holds") return;
    this.#holds.add(entry);
    this.#wakeUp();
  }

  giveUp(_event: unknown, entry: Entry): void {
    this.#waits.delete(entry);
    this.#inRuns.delete(entry);
  }

  release(_event: unknown, entry: Entry): void {
    this.#holds.delete(entry);
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#timer.clear();
  }

  #wakeUp(): void {
    this.#timer.atLatest(Math.min(this.#waits.next, this.#holds.next, this.#inRuns.next));
  }

  #look(now: number): void {
    if (this.#inRuns.take(now).length > 0) this.#lookForDeadlocks(now);
    for (const wait of this.#waits.take(now, MOST_REPORTS)) this.#say(waitedLong(wait, now), [wait]);
    for (const hold of this.#holds.take(now, MOST_REPORTS)) this.#say(heldLong(hold, now), [hold]);
    this.#wakeUp();
  }

  #lookForDeadlocks(now: number): void {
    for (const deadlock of findDeadlocks(hub.groups, (call) => hub.entryOf(call), now - this.#self)) {
      const entries = deadlock.flatMap(({ hold, wait }) => [hold, wait]);
      this.#say(stuck(deadlock, now), entries);
      for (const entry of entries) this.#stuck.add(entry);
    }
  }

  #say(finding: Finding, about: readonly Entry[]): void {
    if (about.every((entry) => this.#stuck.has(entry))) return;
    try {
      this.#report(finding.message, finding);
    } catch (error) {
      throwUncaught(error);
    }
  }
}
