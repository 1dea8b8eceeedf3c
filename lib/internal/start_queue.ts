/**
 * The starts of one limiter: its budgets, the queue of calls that wait for a start, and one timer for them. A call
 * starts when all budgets allow it, and takes from all of them in one step.
 *
 * A start is the moment at which a granted call resumes, microtasks after its grant, and the rest of the turn may take
 * long. So starts are logged at their grant, and moved on to the moment when all callers of the turn have resumed.
 *
 * @module
 */
import type { WaitOptions } from "../types.ts";
import { checkBlock, type Permits, readCounts, readPermits, type Starts } from "./budgets.ts";
import { admit, checkFunction, checkOptions, isThenable } from "./check.ts";
import { hook, step } from "./hook.ts";
import { timersEndWithRequest } from "./platform.ts";
import { type Quota, type StartLog, WindowLog } from "./start_log.ts";
import { ROUNDING, Timer } from "./timer.ts";
import { isTimeReplaced, startTimer } from "./timers.ts";
import { TokenBucket } from "./token_bucket.ts";
import { closeQueues, grant, reportGrant, Waiter, waitersOf, WaitQueue } from "./wait_queue.ts";
import type { WaitedFor } from "./waited_for.ts";

interface StartOptions extends WaitOptions {
  readonly permits?: Permits | undefined;
}

/** Milliseconds by which no real timer fires early. If a timer does, it is of a replaced clock. */
const EARLY = 2;
/** Milliseconds between checks of a waiter whose timer may have ended with another request. */
const CHECK_INTERVAL = 1000;

/** A waiting call. */
export class StartWaiter extends Waiter<void> {
  readonly starts: Starts;

  constructor(target: WaitedFor, starts: Starts) {
    super(target, starts[0]);
    this.starts = starts;
  }
}

/** A clock that never goes back, even when a fake clock is installed or removed. */
class Clock {
  /** A time that has passed for sure, and the correction to the platform's clock. */
  proven = -Infinity;
  offset = 0;

  /** Milliseconds; never less than at an earlier call. */
  now(): number {
    const now = performance.now() + this.offset;
    if (now >= this.proven) return this.proven = now;
    this.offset += this.proven - now;
    return this.proven;
  }
}

/** The parts that all keys of a limiter share. */
export interface Budgets {
  readonly quotas: readonly Quota[];
  /** One start from each budget. */
  readonly oneOfEach: Starts;
  readonly maxWaiting: number;
  readonly clock: Clock;
}

export function budgetsOf(quotas: readonly Quota[], maxWaiting: number): Budgets {
  return { quotas, oneOfEach: quotas.map(() => 1), maxWaiting, clock: new Clock() };
}

function logOf(quota: Quota): StartLog {
  return quota.kind === "bucket" ? new TokenBucket(quota) : new WindowLog(quota);
}

export class StartQueue {
  // waiters.size > 0 implies that `timer` is set for the first waiter, by the clock of `budgets`. There may be one
  // queue for each of many keys, so it has no timer before a call waits.
  readonly budgets: Budgets;
  readonly logs: readonly StartLog[];
  readonly target: WaitedFor;
  readonly waiters: WaitQueue<void, StartWaiter>;
  private timer: Timer | undefined;
  /** No call starts before this time. */
  blockedUntil = 0;
  /** When this turn's starts began, until all of their callers have resumed. */
  private turn: number | undefined;
  /** Whether a call was granted since `endTurn` last checked. */
  private hasGranted = false;

  /** @param unused The logs of a queue without starts, which are copied. */
  constructor(budgets: Budgets, target: WaitedFor, unused?: readonly StartLog[]) {
    this.budgets = budgets;
    this.logs = unused?.map((log) => log.copy()) ?? budgets.quotas.map(logOf);
    this.target = target;
    this.waiters = new WaitQueue(this, budgets.maxWaiting);
  }

  /** The moment for which the timer is set; Infinity while it is not set. */
  get due(): number {
    return this.timer?.at ?? Infinity;
  }

  /** Reads the permits of a call. */
  readStarts(permits: unknown = 1): Starts {
    const { oneOfEach, quotas } = this.budgets;
    return permits === 1 ? oneOfEach : readPermits(permits, quotas.map(({ limit }) => limit)); // 1 is within any limit
  }

  /** Starts a call and returns undefined, or returns its wait. */
  acquire(options: StartOptions | undefined): Promise<void> | undefined {
    const starts = this.readStarts(checkOptions(options, "permits").permits);
    const limits = admit(options, this.waiters, this.target);
    if (this.tryStart(starts)) return undefined;
    const waiter = new StartWaiter(this.target, starts);
    const started = this.waiters.wait(waiter, limits);
    this.setTimer();
    if (timersEndWithRequest) this.serveWhileQueued(waiter);
    return started;
  }

  tryAcquire(permits: Permits): boolean {
    return this.tryStart(this.readStarts(permits), true);
  }

  /** Calls `fn` once it may start. */
  async run<T>(fn: () => T | PromiseLike<T>, options: StartOptions | undefined): Promise<T> {
    checkFunction(fn);
    await this.acquire(options); // even without a wait: `fn` is never called synchronously
    const result = fn();
    return isThenable(result) ? await result : result; // awaited so that an error's stack shows the caller
  }

  /**
   * Starts a call unless it has to wait. Throws if closed.
   *
   * @param isNow Whether its caller goes on at once, not later in this turn.
   */
  tryStart(starts: Starts, isNow = false): boolean {
    this.waiters.checkOpen(this.target);
    if (this.waiters.size > 0 || !this.tryTake(starts, isNow)) {
      this.setTimer(); // that of the waiters, in case its clock is gone
      return false;
    }
    if (hook !== undefined) reportGrant(new StartWaiter(this.target, starts));
    return true;
  }

  /** Serves the queue while a call waits, on platforms whose timers end with the request that set them. */
  serveWhileQueued(call: { readonly queued: boolean }): void {
    const untilNext = () => Math.min(Math.max(this.due - this.budgets.clock.now(), 1), CHECK_INTERVAL);
    startTimer(untilNext(), () => {
      this.serve();
      return call.queued ? untilNext() : undefined;
    }, true);
  }

  /**
   * Milliseconds until a call made now could start, behind the present waiters; `Infinity` if a waiter wants more than
   * a limit.
   */
  retryAfter(permits: Permits): number {
    const wanted = this.readStarts(permits);
    const now = this.advance();
    let ready = Math.max(now, this.blockedUntil);
    const logs = this.waiters.size === 0 ? this.logs : this.logs.map((log) => log.copy());
    for (const { starts } of waitersOf(this.waiters)) {
      ready = Math.max(ready, readyAt(logs, starts));
      if (ready === Infinity) return ready;
      for (const log of logs) log.advance(ready, Infinity);
      addTo(logs, starts, ready);
    }
    ready = Math.max(ready, readyAt(logs, wanted));
    return Math.ceil(Math.max(0, ready - now - ROUNDING));
  }

  /** Starts of a budget that a new call could make now. */
  remaining(budget: number): number {
    const now = this.advance();
    if (this.waiters.size > 0 || this.waiters.closed || now < this.blockedUntil) return 0;
    return this.logs[budget]!.remaining(now);
  }

  block(ms: number): void {
    checkBlock(ms);
    this.blockedUntil = Math.max(this.blockedUntil, this.budgets.clock.now() + ms);
    this.setTimer();
  }

  reward(permits: Permits): void {
    const starts = readCounts(permits, this.logs.length);
    const now = this.advance();
    this.logs.forEach((log, i) => log.refund(starts[i]!, now));
    this.serve();
  }

  penalize(permits: Permits): void {
    addTo(this.logs, readCounts(permits, this.logs.length), this.advance());
  }

  /** Called before a quota changes, so that it does not matter when it was used last. */
  beforeChange(): void {
    const now = this.advance();
    for (const log of this.logs) log.beforeChange(now);
  }

  /** Grants all starts that are allowed by now, and sets the timer for the next. */
  serve(): void {
    step(() => {
      let next = this.waiters.peek();
      // Serving smaller requests ahead of the first would starve it.
      for (; next !== undefined && this.tryTake(next.starts); next = this.waiters.peek()) {
        this.waiters.unlink(next);
        grant(next, undefined);
      }
      this.setTimer();
    });
  }

  /** Sets the timer for the first waiter. None is set without one, or if it wants more than a lowered limit. */
  setTimer(): void {
    const next = this.waiters.peek();
    const due = next === undefined ? Infinity : Math.max(this.blockedUntil, readyAt(this.logs, next.starts));
    if (due === this.due) return;
    this.timer ??= new Timer((due) => this.onDue(due), true); // keeps the process alive
    this.timer.set(due, this.budgets.clock.now());
  }

  /** Takes a start from all budgets, if they allow it now. */
  private tryTake(starts: Starts, isNow = false): boolean {
    const now = this.advance();
    if (now < this.blockedUntil || now < readyAt(this.logs, starts)) return false;
    addTo(this.logs, starts, now);
    // With a replaced clock, a turn of the event loop may take any time, so the moment of the grant counts as the
    // start.
    if (!isNow && !isTimeReplaced()) {
      this.hasGranted = true;
      if (this.turn === undefined) void this.endTurn(now);
    }
    return true;
  }

  /**
   * Moves the starts of this turn on when all of their callers have resumed. Uses `await`, because a fake clock may
   * replace `queueMicrotask` but not `await`.
   */
  private async endTurn(now: number): Promise<void> {
    this.turn = now;
    while (this.hasGranted) {
      this.hasGranted = false;
      await undefined; // may resume before the callers
      await undefined; // resumes after all callers
    }
    this.advance();
    this.turn = undefined;
    this.setTimer();
  }

  /** A timer that fires proves that its time has passed, unless it is a real one, which may be up to 1 ms early. */
  private onDue(due: number): void {
    const { clock } = this.budgets;
    this.turn = undefined; // a turn that goes on under a timer is one of a replaced clock
    const earlyBy = due - clock.now();
    // Not early, or of a replaced clock.
    if (earlyBy < ROUNDING || earlyBy >= EARLY) clock.proven = Math.max(clock.proven, due);
    this.serve();
  }

  /** Moves all logs to the present, and returns it. */
  advance(): number {
    const now = this.budgets.clock.now();
    for (const log of this.logs) log.advance(now, this.turn ?? Infinity);
    return now;
  }
}

/** Whether no start counts, no block lasts, and no call waits. */
export function isIdle(queue: StartQueue): boolean {
  return queue.waiters.size === 0 && queue.blockedUntil <= queue.advance() && queue.logs.every((log) => log.isUnused);
}

/** Closes limiters for good and rejects all waiters in one step. Cancelling again has no effect. */
export function closeStarts(queues: readonly StartQueue[], reason: unknown): void {
  closeQueues(queues.map(({ waiters }) => waiters), reason);
  for (const queue of queues) queue.setTimer();
}

/** When all budgets will allow these starts. */
function readyAt(logs: readonly StartLog[], starts: Starts): number {
  let ready = -Infinity;
  for (let i = 0; i < logs.length; i++) ready = Math.max(ready, logs[i]!.readyAt(starts[i]!));
  return ready;
}

function addTo(logs: readonly StartLog[], starts: Starts, now: number): void {
  for (let i = 0; i < logs.length; i++) logs[i]!.add(starts[i]!, now);
}
