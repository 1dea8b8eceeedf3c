/**
 * A call to the server, from its first command to its end. Leases and turns within a rate limit are acquired by the
 * same steps. The states:
 *
 * - asking: a command is in flight, and its answer decides.
 * - pausing: the call waits for the time of its next command, or of its turn.
 * - settled: it has its result, or has failed or been cancelled, in one synchronous step.
 *
 * Transitions: asking → settled or pausing; pausing → asking when its time has come; both → settled by the signal or
 * the time-out. Invariant: a settled call sends no further command to ask.
 *
 * Observers see it wait once its first command has failed, has not granted, or has taken {@linkcode SILENCE} ms; the
 * wait counts from that command. Every call that ends without a grant has waited, except for a try that found the
 * resource taken.
 *
 * @module
 */
import type { TimeoutError } from "../../errors.ts";
import { type Cancellation, onCancel, reasonOf, timedOut } from "../../internal/cancellation.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import type { WaitOptions } from "../../types.ts";
import { LocalTimer } from "../clock.ts";
import { explain } from "../errors.ts";
import { assertRules } from "../sound.ts";
import { type Moment, moment } from "../lease/lease_deadline.ts";
import type { CallSpec } from "../resource_spec.ts";
import { now, SILENCE } from "../times.ts";
import { boundOf, RetryPolicy } from "./retry_policy.ts";

/**
 * @param cause The failure of the connection, if that was the obstacle.
 * @param detail Text after the time. Default: the holder, if diagnostics know it.
 */
export function timedOutError(
  { what, resource }: CallSpec,
  timeout: number,
  cause?: unknown,
  detail = hook?.holderOf(resource),
): TimeoutError {
  return timedOut(`acquire ${what}`, timeout, detail, cause === undefined ? undefined : { cause });
}

/** The object itself is the hook's `call`. */
export abstract class ServerCall<A, T> {
  /** Undefined if a try found the resource taken. */
  readonly result: Promise<T | undefined>;
  readonly permits: number;
  /** Whether it asks again until it has its result. */
  readonly waits: boolean;
  settled = false;
  protected readonly retry: RetryPolicy;
  /** The timer for the end of the pause. */
  protected timer: LocalTimer | undefined;
  readonly #spec: CallSpec;
  readonly #timeout: number;
  readonly #isTry: boolean;
  #limits: Cancellation | undefined;
  #resolve!: (result: T | undefined) => void;
  #reject!: (error: unknown) => void;
  /** Set while it pauses. */
  #endPause: (() => void) | undefined;
  /** Whether to skip the pause after the command in flight. */
  #skip = false;
  /** Set while an observer is on and the wait is unreported, until the first command takes long. */
  #slow: LocalTimer | undefined;
  #isReported = false;

  /**
   * @param limits Undefined for a try, which asks once.
   * @param tries Milliseconds for which a call without other limits tries.
   */
  constructor(spec: CallSpec, permits: number, limits: WaitOptions | undefined, tries: number) {
    this.#spec = spec;
    this.permits = permits;
    this.#isTry = limits === undefined;
    this.#timeout = limits?.timeout ?? Infinity;
    this.waits = !this.#isTry && this.#timeout > 0;
    this.retry = new RetryPolicy(tries, limits ?? {});
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Call it at the end of the constructor. */
  protected begin(signal: AbortSignal | undefined): void {
    if (hook !== undefined) {
      hook.begin(this);
      this.#slow = new LocalTimer(() => this.reportWait());
      this.#slow.set(now() + SILENCE);
    }
    this.#limits = onCancel({ signal, timeout: boundOf(this.#timeout) }, (outcome) => {
      if (outcome === "aborted") this.cancel(reasonOf(signal!), outcome);
      else this.#timeOut();
    });
    void this.#run();
  }

  // Asking.

  async #run(): Promise<void> {
    while (!this.settled) {
      this.#skip = false; // earlier requests to ask no longer count
      try {
        const sent = moment();
        this.take(await this.send(sent, this.retry.begin()), sent);
      } catch (error) {
        this.noteFailure(error);
        if (!this.settled) this.reportWait(); // an observer may cancel it
        if (!this.settled) this.#failed(error);
      }
      if (!this.settled && !this.#skip) await this.#pause();
    }
    this.ended();
  }

  /** @param limit Milliseconds that the command may take. */
  protected abstract send(sent: Moment, limit: number): Promise<A>;

  /** Takes an answer, perhaps after the call has settled. */
  protected abstract take(answer: A, sent: Moment): void;

  /** Called when a command has failed, perhaps after the call has settled. */
  protected noteFailure(_error: unknown): void {}

  /** Whether it asks again after an error that may pass. */
  protected get retries(): boolean {
    return this.waits;
  }

  #failed(error: unknown): void {
    const againAt = this.retry.failed(error);
    const mayPass = this.#spec.namespace.store.mayPass(error);
    if (this.retries && mayPass && againAt !== undefined) this.askAt(againAt);
    // The error may pass, but not within the only attempt.
    else if (this.#timeout === 0 && mayPass) this.#timeOut();
    else this.cancel(explain(`acquire ${this.#spec.what}`, this.retry.failure), "error");
  }

  // Pausing.

  protected get pauses(): boolean {
    return this.#endPause !== undefined;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = () => {
        this.#endPause = undefined;
        this.timer?.clear();
        resolve();
      };
    });
  }

  protected askAt(at: number): void {
    this.timer ??= new LocalTimer(() => this.onTime(), true);
    this.timer.set(at);
  }

  /** Called at the end of the pause. */
  protected onTime(): void {
    this.#endPause?.();
  }

  /** Ends the pause, or skips the pause after the command in flight. */
  protected askNow(): void {
    this.#skip = true;
    this.#endPause?.();
  }

  // Settled.

  #timeOut(): void {
    const { failure, silence } = this.retry;
    const { store } = this.#spec.namespace;
    const cause = failure ?? (this.isUnanswered ? store.silence(silence) : store.failure);
    this.cancel(timedOutError(this.#spec, this.#timeout, cause), "timeout");
  }

  /** Whether it needs the answer to the command in flight. */
  protected get isUnanswered(): boolean {
    return !this.pauses;
  }

  protected cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.settled) return;
    this.#settle(() => this.#reject(reason));
    this.reportWait();
    this.#reportGiveUp(outcome);
  }

  /** Ends a call that found the resource taken. @param detail Text after the time. Default: the holder. */
  protected refuse(detail?: string): void {
    const error = () => timedOutError(this.#spec, this.#timeout, undefined, detail);
    this.#settle(() => this.#isTry ? this.#resolve(undefined) : this.#reject(error()));
    if (this.waits) this.reportWait();
    if (this.#isReported) this.#reportGiveUp("timeout");
  }

  protected grant(result: T, permits = this.permits): void {
    this.#settle(() => this.#resolve(result));
    if (hook !== undefined) hook.grant(this.#spec.resource, this, permits);
  }

  /** Reports once that the call waits, counted from its first command. An observer may cancel the call. */
  protected reportWait(): void {
    this.#slow?.clear();
    if (this.#isReported || hook === undefined) return;
    this.#isReported = true;
    hook.wait(this.#spec.resource, this, this.permits);
  }

  #reportGiveUp(outcome: GiveUpOutcome): void {
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this, outcome, this.permits);
  }

  #settle(settle: () => void): void {
    this.settled = true;
    this.#limits?.end();
    this.timer?.clear();
    this.#slow?.clear();
    this.cleanUp(); // before the caller continues
    settle();
    this.#endPause?.();
  }

  /** Gives up its position or turn. */
  protected abstract cleanUp(): void;

  /** Called once the call has settled and no command of it is in flight. */
  protected ended(): void {}

  /** Throws unless the invariants of a pending call hold; for tests. */
  assertSound(): void {
    assertRules(`call for ${this.#spec.what}`, {
      "it has settled": !this.settled,
      "it pauses without end": !this.pauses || (this.timer?.at ?? Infinity) < Infinity,
    });
  }
}
