/**
 * A call to the server, from its first command to its end. Leases and turns within a rate limit are acquired in
 * the same way. The states:
 *
 * - asking: a command is in flight. Its answer decides, even if it comes after the next command.
 * - pausing: the call waits for the time of its next command, or of its turn.
 * - settled: it has its result, or has failed or been cancelled; all at once, without an `await`.
 *
 * Transitions: asking → settled or pausing; pausing → asking when its time has come; both → settled by the signal or
 * the time-out. Invariants: a settled call sends no further command to ask; before, its timer or the limit of its
 * command is set, so that it asks again if no answer comes. The one that is set ends the call when its time is out.
 *
 * Observers see it wait once its first command has failed, has not granted, or has taken {@linkcode SILENCE} ms; the
 * wait counts from that command. Every call that ends without a grant has waited, except for a try that found the
 * resource taken.
 *
 * @module
 */
import type { TimeoutError } from "../../errors.ts";
import { type CancelWatch, onCancel, reasonOf, timeoutError } from "../../internal/cancellation.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import { exposeState } from "../../internal/state.ts";
import { Timer } from "../../internal/timer.ts";
import type { WaitOptions } from "../../types.ts";
import { causedBy, explain, mayHaveRun, reasonFor, withoutArguments } from "../errors.ts";
import type { CallSpec } from "../resource_spec.ts";
import { type Sender, SentCommand } from "../store/commands.ts";
import { type Moment, notBefore, now, SILENCE } from "../times.ts";
import { RetryPolicy } from "./retry_policy.ts";

/** The object itself is the hook's `call`. */
export abstract class ServerCall<S extends CallSpec, A, T> implements Sender {
  readonly spec: S;
  /** Undefined if a try found the resource taken. */
  readonly result: Promise<T | undefined>;
  readonly permits: number;
  /** Whether it asks again until it has its result. */
  readonly waits: boolean;
  /** Whether it asks again after an error that may pass. */
  protected retries: boolean;
  settled = false;
  protected readonly retry: RetryPolicy;
  /** The last command, until one is answered. */
  #command: SentCommand | undefined;
  /** Whether an earlier command has no answer. */
  #isUnanswered = false;
  readonly #timeout: number;
  /** Local time at which it times out. */
  readonly endsAt: number;
  /** Whether it asks once, and resolves to undefined if the resource is taken. */
  readonly #isTry: boolean;
  /**
   * Set for the end of the pause, or of the sleep until its turn; while it asks, until observers are to see it wait.
   */
  protected readonly timer: Timer = new Timer((at) => this.#onTimer(notBefore(at)), true);
  #cancellation: CancelWatch | undefined;
  #resolve!: (result: T | undefined) => void;
  #reject!: (error: unknown) => void;
  /** Whether observers have seen it wait. */
  #isReported = false;

  static {
    exposeState(ServerCall, (call) => [call.isAsking, call.timer]);
  }

  /**
   * @param limits Undefined for a try, which asks once.
   * @param tryingMs Milliseconds for which a call without other limits tries.
   */
  constructor(spec: S, permits: number, limits: WaitOptions | undefined, tryingMs: number) {
    this.spec = spec;
    this.permits = permits;
    this.#isTry = limits === undefined;
    this.#timeout = limits?.timeout ?? Infinity;
    this.waits = this.retries = !this.#isTry && this.#timeout > 0;
    this.retry = new RetryPolicy(tryingMs, limits ?? {});
    this.endsAt = this.#timeout > 0 ? this.retry.endsAt : Infinity; // without waiting, the limit of its command is enough
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Call it at the end of the constructor. */
  protected begin(signal: AbortSignal | undefined): void {
    if (hook !== undefined) hook.begin(this);
    if (signal !== undefined) this.#cancellation = onCancel({ signal }, () => this.fail(reasonOf(signal), "aborted"));
    this.ask();
  }

  // Its time.

  protected pauseUntil(time: number): void {
    this.timer.set(Math.min(time, this.endsAt));
  }

  #onTimer(time: number): void {
    if (time >= this.endsAt) return this.timeOut();
    if (!this.isAsking) return this.onTime();
    this.reportWait();
    this.#setTimer();
  }

  /** Sets the timer of a call that asks. Its command counts as unanswered at its end, if the client has taken it. */
  #setTimer(): void {
    const endsAt = this.#command?.isHeldBack ? this.endsAt : Infinity;
    const at = hook === undefined || this.#isReported ? endsAt : Math.min(endsAt, now() + SILENCE);
    this.timer.set(at);
  }

  // Asking.

  /** Sends a command, even while an earlier one is in flight. */
  ask(): void {
    if (this.settled) return;
    this.#command?.end();
    const command = this.#command = new SentCommand(this.retry.limit, this);
    this.send(command).then((answer) => this.#answered(answer, command), (error) => {
      // Else an earlier command has its answer, and the next one is sent at its time; a closed client sends none.
      if (this.isAsking || this.spec.namespace.store.backend.closed) this.#failed(error, command);
    });
    this.#setTimer();
  }

  /** Whether the last command has no answer yet. */
  protected get isAsking(): boolean {
    return this.#command !== undefined;
  }

  /** Whether a command without an answer may have run, or may still run. */
  protected get mayHaveRun(): boolean {
    return this.#isUnanswered || this.#command?.isHeldBack === false;
  }

  unanswered(command: SentCommand): void {
    this.#failed(this.#silence(command), command);
  }

  /** Why its commands have had no answer; undefined if that is not longer than `least`. */
  #silence(command: SentCommand, least?: number): unknown {
    return this.spec.namespace.store.silence?.(this.retry.failingSince ?? command.at, least);
  }

  #endCommand(): void {
    this.#command?.end();
    this.#command = undefined;
  }

  protected abstract send(command: SentCommand): Promise<A>;

  #answered(answer: A, sent: Moment): void {
    this.#endCommand();
    try {
      this.onAnswer(answer, sent);
    } catch (error) {
      this.#failed(error, sent);
    }
  }

  /** Takes an answer, perhaps after the call has settled. */
  protected abstract onAnswer(answer: A, sent: Moment): void;

  #failed(error: unknown, sent: Moment): void {
    if (this.settled) return;
    this.#endCommand();
    if (mayHaveRun(error)) this.#isUnanswered = true;
    const againAt = this.retry.failed(error, sent.at);
    this.reportWait();
    if (this.settled) return; // an observer has cancelled it
    const mayPass = this.spec.namespace.store.mayPass?.(error);
    if (this.retries && mayPass && againAt !== undefined) this.pauseUntil(againAt);
    // The error may pass, but not within the only attempt.
    else if (this.#timeout === 0 && mayPass) this.timeOut();
    else this.fail(explain(`acquire ${this.spec.what}`, this.retry.failure), "error");
  }

  /** Called when the time of its pause is over. */
  protected onTime(): void {
    this.ask();
  }

  // Settled.

  timeOut(): void {
    const command = this.#command;
    const silence = command?.isHeldBack === false ? this.#silence(command, SILENCE) : undefined;
    const cause = this.retry.failure ?? silence ?? withoutArguments(this.spec.namespace.store.backend.failure);
    this.fail(this.#timeoutError(cause), "timeout");
  }

  /**
   * @param cause The failure of the connection, if that was the obstacle.
   * @param detail Text after the time. Default: the holder, if diagnostics know it.
   */
  #timeoutError(cause?: unknown, detail = hook?.holderText(this.spec.resource) ?? ""): TimeoutError {
    const reason = cause === undefined ? "" : `; ${reasonFor(cause)}`;
    return timeoutError(`acquire ${this.spec.what}`, this.#timeout, reason + detail, causedBy(cause));
  }

  /** Ends without a grant: it has failed, timed out, or its signal has aborted. */
  protected fail(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.settled) return;
    this.#end();
    this.#reject(reason);
    this.reportWait();
    this.#reportGiveUp(outcome);
  }

  /** Ends a call that found the resource taken. @param detail Text after the time. Default: the holder. */
  protected refuse(detail?: string): void {
    this.#end();
    this.#isTry ? this.#resolve(undefined) : this.#reject(this.#timeoutError(undefined, detail));
    if (this.waits) this.reportWait();
    if (this.#isReported) this.#reportGiveUp("timeout");
  }

  protected grant(result: T, permits = this.permits, lease?: object): void {
    this.#end(true);
    this.#resolve(result);
    if (hook !== undefined) hook.grant(this.spec.resource, this, permits, lease);
  }

  /** Reports once that the call waits, counted from its first command. An observer may cancel the call. */
  protected reportWait(): void {
    if (this.#isReported || hook === undefined) return;
    this.#isReported = true;
    hook.wait(this.spec.resource, this, this.permits);
  }

  #reportGiveUp(outcome: GiveUpOutcome): void {
    if (hook !== undefined) hook.giveUp(this.spec.resource, this, outcome, this.permits);
  }

  /** Called before its promise is settled. */
  #end(isGranted = false): void {
    this.settled = true;
    this.#cancellation?.end();
    this.timer.clear();
    this.cleanUp(isGranted);
    this.#endCommand();
  }

  /** Called once it has settled: leaves nothing on the server. */
  protected abstract cleanUp(isGranted: boolean): void;
}
