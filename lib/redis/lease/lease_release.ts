/**
 * The end of one hold by its holder. Invariant: it resolves to true only if this call gave the hold back, to false only
 * if the server said that the hold was over before, and rejects if the answer that decides it is missing.
 *
 * @module
 */
import { ClientClosedError, codeOf, explain, NoAnswerError, UnknownOutcomeError } from "../errors.ts";
import { releaseInBackground } from "./background_release.ts";
import type { Closable, Was } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { backoff, commandLimit, LEAST_LIMIT, LEAST_RELEASING, now } from "../times.ts";
import type { LeaseHold } from "./lease_hold.ts";

/** Gives back a hold that was trusted until now. */
export class LeaseRelease implements Closable {
  index: number = -1;
  readonly result: Promise<boolean>;
  readonly #hold: LeaseHold;
  readonly #until: number;
  readonly #next = new LocalTimer(() => this.#attempt(), true);
  readonly #end = new LocalTimer(() => this.#giveUp(), true);
  #attempts = 0;
  /** Attempts that may have run and have no answer yet, and those that never get one. */
  #inFlight = 0;
  #unanswered = 0;
  #failure: unknown;
  /** The server has said that the hold was over, perhaps by an earlier attempt. */
  #over = false;
  #settled = false;
  #resolve!: (released: boolean) => void;
  #reject!: (error: unknown) => void;

  constructor(hold: LeaseHold) {
    this.#hold = hold;
    const time = now();
    this.#until = Math.max(hold.releaseOptions.until, time + LEAST_RELEASING);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    hold.spec.client.store.onClose(this);
    this.#attempt(time); // first, as its time ends sooner: moving a timer takes time
    this.#end.set(this.#until, time);
  }

  close(): void {
    if (this.#inFlight > 0) this.#giveUp();
    else this.#attempt(); // which rejects
  }

  #attempt(time = now()): void {
    const attempt = this.#attempts++;
    const { client: { store }, settings: { ttl } } = this.#hold.spec;
    const { losses } = store;
    this.#inFlight++;
    // The answer counts however late it comes; without one by then, the command is sent again.
    this.#next.set(time + commandLimit(ttl, LEAST_LIMIT.release), time);
    store.release(this.#hold.spec, this.#hold.id, this.#until - time, attempt > 0).then(
      (was) => this.#answered(was, store.losses !== losses),
      (error) => this.#failed(error, attempt),
    );
  }

  /** @param again Whether the client may have sent it again: then the first run, if any, has no answer. */
  #answered(was: Was, again: boolean): void {
    this.#inFlight--;
    if (was === "held") return this.#settle(() => this.#resolve(true));
    this.#over = true;
    if (again) {
      this.#unanswered++;
      this.#failure = new NoAnswerError("the connection was lost while the command was in flight");
    }
    this.#decide();
  }

  #failed(error: unknown, attempt: number): void {
    this.#inFlight--;
    this.#failure = error;
    // With a code the server refused it, so it did not run.
    if (error instanceof NoAnswerError || codeOf(error) === "") this.#unanswered++;
    if (this.#settled) return;
    if (this.#over) return this.#decide();
    if (!this.#hold.spec.client.store.mayPass(error)) {
      return this.#settle(() => this.#reject(explain(`release ${this.#hold.spec.what}`, error)));
    }
    if (this.#inFlight === 0) this.#next.set(now() + backoff(attempt));
  }

  /** The hold is over: by an attempt without an answer, or before the first one. */
  #decide(): void {
    if (this.#settled) return;
    this.#next.clear();
    if (this.#inFlight > 0) return; // an earlier attempt can still say that it gave the hold back
    if (this.#unanswered === 0) this.#settle(() => this.#resolve(false));
    else this.#giveUp();
  }

  #giveUp(): void {
    if (this.#settled) return;
    if (this.#inFlight + this.#unanswered === 0) return this.#settle(() => this.#resolve(false)); // refused to the end
    const { closed } = this.#hold.spec.client.store;
    const silence = () => closed ? new ClientClosedError() : new NoAnswerError("Redis gave no answer in time");
    const cause = this.#failure ?? silence();
    this.#settle(() => this.#reject(new UnknownOutcomeError(`release ${this.#hold.spec.what}`, cause)));
  }

  #settle(settle: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#next.clear();
    this.#end.clear();
    this.#hold.spec.client.store.offClose(this);
    // An acquire of this id without an answer may still run, and would be granted.
    const { id, spec, releaseOptions } = this.#hold;
    const { inFlightUntil } = releaseOptions;
    const mayRun = inFlightUntil !== 0 && inFlightUntil > spec.clock.at(now());
    if (mayRun) void releaseInBackground(spec, id, releaseOptions);
    settle();
  }
}
