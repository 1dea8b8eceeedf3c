/**
 * How a waiter gives up: the only place that knows the signals and timers of those in line.
 *
 * However many wait with one signal, it carries one listener; however many wait with one time-out, they share one
 * timer. Both are gone as soon as nobody needs them. When several leave at once, all of them are out of their lines
 * before anybody behind them is let in, so nothing is granted to who is about to leave.
 *
 * @module
 */
import { checkWaitOptions } from "./check.ts";
import { TimeoutError } from "../errors.ts";
import type { WaitOptions } from "../types.ts";

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

/** One waiter's way out. It is registered with its signal and its time-out exactly while its waiter is in line. */
export class Exit {
  readonly line: Line;
  readonly signal: AbortSignal | undefined;
  readonly #waiter: Leaver;
  readonly #reject: (reason: unknown) => void;
  readonly #timeout: number;
  readonly #signalled: Crowd<AbortSignal> | undefined;
  readonly #timed: Crowd<number> | undefined;
  /** On the monotonic clock, in ms. */
  readonly deadline: number = Infinity;

  constructor(line: Line, waiter: Leaver, reject: (reason: unknown) => void, options: WaitOptions) {
    const { signal, timeout = Infinity } = options;
    this.line = line;
    this.signal = signal;
    this.#waiter = waiter;
    this.#reject = reject;
    this.#timeout = timeout;
    if (signal !== undefined) this.#signalled = Signal.crowdOf(signal).join(this);
    if (timeout === Infinity) return;
    // A timer counts whole milliseconds; rounding up is never early.
    const delay = Math.ceil(timeout);
    this.deadline = performance.now() + delay;
    this.#timed = (byDelay.get(delay) ?? new TimedCrowd(delay)).join(this);
  }

  /** Forgets signal and timer: the waiter was granted, or leaves otherwise. */
  disarm(): void {
    this.#waiter.exit = undefined;
    this.#signalled?.leave(this);
    this.#timed?.leave(this);
  }

  /**
   * Takes the waiter out of its line and rejects it, for its signal or else for its time. The caller tells the line when
   * all who leave now are out.
   */
  leave(): void {
    this.line.drop(this.#waiter);
    this.#reject(this.signal?.aborted ? this.signal.reason : timedOut(this.#waiter.act, this.#timeout));
  }

  /** For a signal that is aborted but has not told its listeners yet: what is next must not be granted to who gave up. */
  leaveIfAborted(): boolean {
    if (!this.signal?.aborted) return false;
    this.leave();
    return true;
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
function leaveTogether(exits: Iterable<Exit>): void {
  const lines = new Set<Line>();
  for (const exit of exits) {
    exit.leave();
    lines.add(exit.line);
  }
  for (const line of lines) line.gone();
}

/** Everybody who leaves for the same reason. It is known, and watches for that reason, exactly while it has members. */
abstract class Crowd<K> {
  protected readonly exits: Set<Exit> = new Set();
  protected readonly key: K;

  constructor(key: K) {
    this.key = key;
  }

  join(exit: Exit): this {
    this.exits.add(exit);
    return this;
  }

  leave(exit: Exit): void {
    this.exits.delete(exit);
    if (this.exits.size === 0) this.end();
  }

  protected abstract end(): void;
}

/** Its constructor returns what it is given, so the private fields of a class that extends it go onto that. */
class Given {
  constructor(object: object) {
    return object;
  }
}

/**
 * A signal with its crowd in a private field: nobody sees it, and it goes with the signal, as in a WeakMap. With 100,000
 * signals a WeakMap is more than half of what waiting adds to what the signals cost by themselves.
 */
class Signal extends Given {
  #crowd: SignalCrowd | undefined;

  /** Everybody who waits with the signal, as soon as there is somebody. */
  static crowdOf(given: AbortSignal): SignalCrowd {
    const signal = (#crowd in given ? given : new Signal(given)) as Signal;
    return signal.#crowd ??= new SignalCrowd(given);
  }

  /** There is nobody any more. */
  static forget(signal: AbortSignal): void {
    (signal as unknown as Signal).#crowd = undefined;
  }
}

/** All who wait with one signal. One listener serves them: adding one for each would cost O(n). */
class SignalCrowd extends Crowd<AbortSignal> {
  constructor(signal: AbortSignal) {
    super(signal);
    signal.addEventListener("abort", this);
  }

  handleEvent(): void {
    leaveTogether(this.exits);
  }

  protected override end(): void {
    this.key.removeEventListener("abort", this);
    Signal.forget(this.key);
  }
}

const byDelay = new Map<number, TimedCrowd>();

/** All who wait equally long: they joined in the order of their deadlines, so one timer for the first serves all. */
class TimedCrowd extends Crowd<number> {
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer is due. */
  #until = 0;

  constructor(delay: number) {
    super(delay);
    byDelay.set(delay, this);
    this.#start(delay);
  }

  #start(delay: number): void {
    const wait = Math.min(Math.ceil(delay), LONGEST_DELAY);
    this.#until = performance.now() + wait;
    this.#timer = setTimeout(() => this.#ring(), wait);
  }

  #ring(): void {
    // A timer may ring a little before the monotonic clock says so; what it was set for counts as reached.
    const now = Math.max(performance.now(), this.#until);
    leaveTogether(this.#due(now));
    const [next] = this.exits;
    if (next !== undefined) this.#start(next.deadline - now);
  }

  /** Who is due at that time or less than a millisecond later, which is as exact as timers are. */
  *#due(time: number): Iterable<Exit> {
    for (const exit of this.exits) {
      if (exit.deadline >= time + 1) return;
      yield exit;
    }
  }

  protected override end(): void {
    clearTimeout(this.#timer);
    byDelay.delete(this.key);
  }
}
