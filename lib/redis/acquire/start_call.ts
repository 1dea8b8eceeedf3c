/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command, unless it
 * fails or comes too late by the server's clock; a turn that the call does not use, because it gave up, is given back.
 *
 * @module
 */
import { type Cancellable, type CancelOutcome, CancelRegistration, timedOut } from "../../internal/cancellation.ts";
import type { WaitLimits } from "../../internal/check.ts";
import { type GiveUpOutcome, hook, type Resource } from "../../internal/hook.ts";
import { onceFor } from "../../internal/once.ts";
import { LocalTimer } from "../clock.ts";
import type { Client } from "../client.ts";
import { explain, UselessAnswerError } from "../errors.ts";
import { MemoryData } from "../store/memory_data.ts";
import type { StartAnswer, StoredRate, Turn } from "../store/rate.ts";
import { now, ONE_ATTEMPT, SINGLE_COMMAND, TRYING } from "../times.ts";
import { type LocalStart, LocalStarts } from "./local_starts.ts";
import { RetryPolicy } from "./retry_policy.ts";

export interface RateSpec extends StoredRate {
  readonly client: Client;
  readonly resource: Resource;
  /** Identifies the limit, with its numbers, among those of the client. */
  readonly window: Window;
  /** Set with the first start of the object. */
  local?: LocalStarts;
}

interface Window {
  readonly keys: readonly [string];
  readonly limit: number;
  readonly interval: number;
}

/** Of one client, as many objects may stand for one limit: `limiter.at(key)` makes a new one with each call. */
const startsOf = onceFor((_: Client) => new MemoryData((window: Window) => new LocalStarts(window)));

/** Resolves once the call may start. */
export function startWithin(spec: RateSpec, permits: number, limits: WaitLimits | undefined): Promise<boolean> {
  return new StartCall(spec, permits, limits?.timeout ?? Infinity, limits?.signal, true).result;
}

/** Starts now, or resolves to false. */
export function tryStart(spec: RateSpec, permits: number): Promise<boolean> {
  return new StartCall(spec, permits, 0, undefined, false).result;
}

/** The milliseconds until a call could start. */
export async function waitOf(spec: RateSpec, permits: number): Promise<number> {
  const request = { rate: spec, permits, within: -1, latest: 0, settled: false };
  try {
    const answer = await spec.client.store.start(request, SINGLE_COMMAND);
    return answer.kind === "later" ? Math.ceil(answer.wait) : 0;
  } catch (error) {
    throw explain(`look at ${spec.what}`, error);
  }
}

class StartCall implements Cancellable<CancelRegistration>, LocalStart {
  readonly result: Promise<boolean>;
  readonly #spec: RateSpec;
  readonly permits: number;
  place = 0;
  isDue = false;
  readonly #timeout: number;
  /** Whether a call without a turn rejects, or resolves to false. */
  readonly #rejects: boolean;
  readonly #endsAt: number;
  readonly #retry: RetryPolicy;
  readonly #limits: CancelRegistration;
  /** Of its turn, or of the next command after one that failed. */
  readonly #timer = new LocalTimer(() => this.#turn === undefined ? this.#endPause?.() : this.#due(), true);
  #pause: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #turn: Turn | undefined;
  settled = false;
  #resolve!: (started: boolean) => void;
  #reject!: (error: unknown) => void;

  constructor(spec: RateSpec, permits: number, timeout: number, signal: AbortSignal | undefined, rejects: boolean) {
    const least = timeout === 0 ? ONE_ATTEMPT : timeout;
    this.#spec = spec;
    this.permits = permits;
    this.#timeout = timeout;
    this.#rejects = rejects;
    this.#endsAt = now() + least;
    this.#retry = new RetryPolicy(TRYING, this.#endsAt, timeout === Infinity && signal === undefined);
    this.#limits = new CancelRegistration(this);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (hook !== undefined) hook.begin(this);
    this.#limits.begin({ signal, timeout: least });
    void this.#run();
  }

  async #run(): Promise<void> {
    while (!this.settled && this.#turn === undefined) {
      try {
        this.#take(await this.#send());
      } catch (error) {
        if (!this.settled) this.#failed(error);
      }
      if (!this.settled && this.#endPause !== undefined) await this.#pause;
    }
  }

  #send(): Promise<StartAnswer> {
    const { client: { store }, clock } = this.#spec;
    const limit = this.#retry.begin();
    const time = now();
    const request = {
      rate: this.#spec,
      permits: this.permits,
      within: this.#timeout === 0 ? 0 : this.#endsAt - time,
      latest: clock.known ? clock.at(time + limit) : 0,
      isOver: () => this.settled,
      get settled(): boolean {
        return this.isOver();
      },
    };
    return store.start(request, limit, (answer) => {
      if (answer.kind === "turn") this.#giveBack(answer.turn); // another command may have brought one since
    });
  }

  #take(answer: StartAnswer): void {
    if (answer.kind === "turn") {
      if (this.settled) return this.#giveBack(answer.turn);
      return this.#wait(answer.turn);
    }
    if (this.settled) return;
    if (answer.kind === "later") return this.#refuse(answer.wait);
    // Too late by the server's clock, which is known better now.
    if (!this.#retry.refused()) throw new UselessAnswerError("the command came too late by the server's clock");
  }

  #wait(turn: Turn): void {
    const { client, window, resource } = this.#spec;
    const local = this.#spec.local ??= startsOf(client).of(window);
    const localWait = local.waitFor(this.permits);
    if (localWait > 0 && now() + localWait > this.#endsAt) { // a server that has lost the starts of this process
      this.#giveBack(turn);
      return this.#refuse(localWait);
    }
    this.#turn = turn;
    this.place = turn.start;
    local.add(this);
    if (turn.wait === 0) return this.#due();
    if (hook !== undefined) hook.wait(resource, this, this.permits);
    this.awaitTurn();
  }

  get isStuck(): boolean {
    return !this.settled && !this.isDue && this.#timer.at === Infinity;
  }

  awaitTurn(): void {
    this.#timer.set(now() + this.#turn!.wait);
  }

  #due(): void {
    this.isDue = true;
    this.#spec.local!.serve();
  }

  start(): void {
    this.#turn = undefined;
    this.#settle(() => this.#resolve(true));
    if (hook !== undefined) hook.grant(this.#spec.resource, this, this.permits);
  }

  #refuse(wait: number): void {
    if (!this.#rejects) return this.#settle(() => this.#resolve(false));
    this.#cancel(this.#timedOut(`; its turn would come after ${Math.ceil(wait)} ms`), "timeout");
  }

  #failed(error: unknown): void {
    const againAt = this.#retry.failed(error);
    const mayPass = this.#spec.client.store.mayPass(error);
    if (this.#timeout !== 0 && mayPass && againAt !== undefined) return this.#pauseUntil(againAt);
    if (this.#rejects && this.#timeout === 0 && mayPass) {
      return this.#cancel(this.#timedOut("", this.#retry.failure), "timeout");
    }
    this.#cancel(explain(`acquire ${this.#spec.what}`, this.#retry.failure), "error");
  }

  #pauseUntil(at: number): void {
    this.#pause = new Promise((resolve) => {
      this.#endPause = () => {
        this.#endPause = undefined;
        resolve();
      };
    });
    this.#timer.set(at);
  }

  // As one that can be cancelled.

  settle({ reason }: CancelRegistration, outcome: CancelOutcome): void {
    if (outcome === "aborted") return this.#cancel(reason, outcome);
    if (!this.#rejects && this.#turn !== undefined) return this.#settle(() => this.#resolve(false));
    const { silence, failure } = this.#retry;
    const isSilent = this.#turn === undefined;
    const cause = failure ?? (isSilent ? this.#spec.client.store.silence(silence) : undefined);
    if (this.#rejects) this.#cancel(this.#timedOut("", cause), "timeout");
    else this.#cancel(explain(`acquire ${this.#spec.what}`, cause), "error");
  }

  afterLeave(): void {}

  #timedOut(more: string, cause?: unknown): Error {
    const holder = more || (hook?.holderOf(this.#spec.resource) ?? "");
    return timedOut(`acquire ${this.#spec.what}`, this.#timeout, holder, cause === undefined ? undefined : { cause });
  }

  #cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.settled) return;
    this.#settle(() => this.#reject(reason));
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this, outcome, this.permits);
  }

  #settle(settle: () => void): void {
    this.settled = true;
    this.#limits.end();
    this.#timer.clear();
    if (this.#turn !== undefined) {
      this.#giveBack(this.#turn);
      this.#spec.local!.serve(); // those behind it may be waiting for it
    }
    settle();
    this.#endPause?.();
  }

  /** No caller waits for it; without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.#spec.client.store.giveBack(this.#spec, this.permits, turn, SINGLE_COMMAND).catch(() => {});
  }
}
