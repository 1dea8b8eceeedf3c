/**
 * How a waiter gives up: the only place that knows signals and timers.
 *
 * However many wait with one signal, it carries one listener; however many wait with one time-out, they share one
 * timer. Both are gone as soon as nobody needs them. When several leave at once, all of them are out of their lines
 * before anybody behind them is let in, so nothing is granted to who is about to leave.
 *
 * @module
 */
import { checkWaitOptions } from "./_check.ts";
import { TimeoutError } from "./errors.ts";
import type { WaitOptions } from "./types.ts";

/** The line as an exit sees it. */
interface Line {
  drop(waiter: Leaver): void;
  gone(): void;
}

/** The waiter as its exit sees it. */
interface Leaver {
  readonly act: string;
  exit: Exit | undefined;
}

/** What setTimeout can count; anything above fires at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** One waiter's way out. It is registered with its signal and timer exactly while its waiter is in line. */
export class Exit {
  readonly line: Line;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  readonly #waiter: Leaver;
  readonly #reject: (reason: unknown) => void;
  readonly #hub: SignalHub | undefined;
  readonly #deadlines: Deadlines | undefined;
  /** On the monotonic clock, in ms. */
  readonly deadline: number = Infinity;

  constructor(line: Line, waiter: Leaver, reject: (reason: unknown) => void, options: WaitOptions) {
    this.line = line;
    this.#waiter = waiter;
    this.#reject = reject;
    this.signal = options.signal;
    this.timeout = options.timeout ?? Infinity;
    if (this.signal !== undefined) this.#hub = SignalHub.join(this.signal, this);
    if (this.timeout === Infinity) return;
    const now = performance.now();
    // A timer counts whole milliseconds; rounding up is never early.
    const delay = Math.ceil(this.timeout);
    this.deadline = now + delay;
    this.#deadlines = Deadlines.join(delay, this, now);
  }

  /** Forgets signal and timer: the waiter was granted, or leaves otherwise. */
  disarm(): void {
    this.#waiter.exit = undefined;
    this.#hub?.leave(this);
    this.#deadlines?.leave(this);
  }

  /** Takes the waiter out of its line and rejects it. The caller tells the line when all who leave now are out. */
  leave(reason: unknown): void {
    this.disarm();
    this.line.drop(this.#waiter);
    this.#reject(reason);
  }

  /** For a signal that is aborted but has not told its listeners yet: what is next must not be granted to who gave up. */
  leaveIfAborted(): boolean {
    if (!this.signal?.aborted) return false;
    this.leave(this.signal.reason);
    return true;
  }

  /** The error for this waiter's time-out. */
  timedOut(): TimeoutError {
    return timedOut(this.#waiter.act, this.timeout);
  }
}

/** The error for a wait that took too long. */
export function timedOut(act: string, timeout: number): TimeoutError {
  return new TimeoutError(`Cannot ${act}: timed out after ${timeout} ms`);
}

/** The rejection for bad options or an aborted signal, where there is no state to check in between. */
export function refusal(options: WaitOptions | undefined, checkMore?: () => void): Promise<never> | undefined {
  if (options === undefined) return undefined;
  try {
    checkWaitOptions(options);
    checkMore?.();
  } catch (error) {
    return Promise.reject(error);
  }
  return options.signal?.aborted ? Promise.reject(options.signal.reason) : undefined;
}

/** Everybody is out before anybody is let in. */
function leaveTogether(exits: Iterable<Exit>, reason: (exit: Exit) => unknown): void {
  const lines = new Set<Line>();
  for (const exit of exits) {
    exit.leave(reason(exit));
    lines.add(exit.line);
  }
  for (const line of lines) line.gone();
}

/** All who wait with one signal. It listens while it has members; adding a listener for each would cost O(n). */
class SignalHub {
  static readonly #hubs = new WeakMap<AbortSignal, SignalHub>();
  readonly #signal: AbortSignal;
  readonly #exits = new Set<Exit>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this);
    SignalHub.#hubs.set(signal, this);
  }

  static join(signal: AbortSignal, exit: Exit): SignalHub {
    const hub = SignalHub.#hubs.get(signal) ?? new SignalHub(signal);
    hub.#exits.add(exit);
    return hub;
  }

  leave(exit: Exit): void {
    this.#exits.delete(exit);
    if (this.#exits.size > 0) return;
    this.#signal.removeEventListener("abort", this);
    SignalHub.#hubs.delete(this.#signal);
  }

  handleEvent(): void {
    leaveTogether(this.#exits, () => this.#signal.reason);
  }
}

/** All who wait equally long: they joined in the order of their deadlines, so one timer for the first serves all. */
class Deadlines {
  static readonly #byDelay = new Map<number, Deadlines>();
  readonly #delay: number;
  readonly #exits = new Set<Exit>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer is due. */
  #until = 0;

  constructor(delay: number) {
    this.#delay = delay;
    Deadlines.#byDelay.set(delay, this);
  }

  static join(delay: number, exit: Exit, now: number): Deadlines {
    const deadlines = Deadlines.#byDelay.get(delay) ?? new Deadlines(delay);
    deadlines.#exits.add(exit);
    if (deadlines.#exits.size === 1) deadlines.#start(delay, now);
    return deadlines;
  }

  leave(exit: Exit): void {
    this.#exits.delete(exit);
    if (this.#exits.size > 0) return;
    clearTimeout(this.#timer);
    Deadlines.#byDelay.delete(this.#delay);
  }

  #start(delay: number, now: number): void {
    const wait = Math.min(Math.ceil(delay), LONGEST_DELAY);
    this.#until = now + wait;
    this.#timer = setTimeout(() => this.#ring(), wait);
  }

  #ring(): void {
    const now = performance.now();
    // A timer may ring a little before the monotonic clock says so; what it was set for counts as reached.
    const reached = Math.max(now, this.#until);
    leaveTogether(this.#due(reached), (exit) => exit.timedOut());
    const [next] = this.#exits;
    if (next !== undefined) this.#start(next.deadline - now, now);
  }

  /** Who is due at that time or less than a millisecond later, which is as exact as timers are. */
  *#due(time: number): Iterable<Exit> {
    for (const exit of this.#exits) {
      if (exit.deadline >= time + 1) return;
      yield exit;
    }
  }
}
