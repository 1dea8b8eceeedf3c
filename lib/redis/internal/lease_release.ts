/**
 * The end of one hold by its holder. Invariant: it resolves to true only if this call gave the hold back, to false only
 * if the server said that the hold was over before, and rejects if the answer that decides it is missing.
 *
 * @module
 */
import { codeOf, explain, NoAnswerError, UnknownOutcomeError } from "../errors.ts";
import type { Link } from "./connection.ts";
import { forgetInBackground, type ForgetOptions, release, type Was } from "./release_by_id.ts";
import type { Target } from "./resource_spec.ts";
import { Alarm, now } from "./clock.ts";

/** Milliseconds that a late answer is waited for, also when the lease ends sooner. */
const LEAST = 2000;

/** Gives back a hold that was trusted until now. */
export function giveBack(link: Link, target: Target, id: string, options: ForgetOptions): Promise<boolean> {
  return new LeaseRelease(link, target, id, options).result;
}

class LeaseRelease {
  readonly result: Promise<boolean>;
  readonly #link: Link;
  readonly #target: Target;
  readonly #id: string;
  readonly #options: ForgetOptions;
  readonly #until: number;
  readonly #next = new Alarm(() => this.#attempt(), true);
  readonly #end = new Alarm(() => this.#giveUp(), true);
  readonly #stopListening: () => void;
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

  constructor(link: Link, target: Target, id: string, options: ForgetOptions) {
    this.#link = link;
    this.#target = target;
    this.#id = id;
    this.#options = options;
    this.#until = Math.max(options.until, now() + LEAST);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stopListening = link.onClose(() => this.#giveUp());
    this.#end.set(this.#until);
    this.#attempt();
  }

  #attempt(): void {
    const attempt = this.#attempts++;
    const { ttl } = this.#target.settings;
    this.#inFlight++;
    // The answer counts however late it comes; without one by then, the command is sent again.
    this.#next.set(now() + Math.min(Math.max(ttl / 3, 250), 5000));
    release(this.#link, this.#target, this.#id, this.#until - now()).then(
      (was) => this.#answered(was),
      (error) => this.#failed(error, attempt),
    );
  }

  #answered(was: Was): void {
    this.#inFlight--;
    if (was === "held") return this.#settle(() => this.#resolve(true));
    this.#over = true;
    this.#decide();
  }

  #failed(error: unknown, attempt: number): void {
    this.#inFlight--;
    this.#failure = error;
    // With a code the server refused it, so it did not run.
    if (error instanceof NoAnswerError || codeOf(error) === "") this.#unanswered++;
    if (this.#settled) return;
    if (this.#over) return this.#decide();
    if (!this.#link.mayPass(error)) return this.#settle(() => this.#reject(explain(this.#options.act, error)));
    if (this.#inFlight === 0) this.#next.set(now() + Math.min(25 * 2 ** attempt, 1000));
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
    const cause = this.#failure ?? new NoAnswerError("Redis gave no answer in time");
    this.#settle(() => this.#reject(new UnknownOutcomeError(this.#options.act, cause)));
  }

  #settle(settle: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#next.clear();
    this.#end.clear();
    this.#stopListening();
    // An acquire of this id without an answer may still run, and would be granted.
    const mayRun = this.#options.stray > this.#link.serverTime(now());
    if (mayRun) forgetInBackground(this.#link, this.#target, this.#id, this.#options);
    settle();
  }
}
