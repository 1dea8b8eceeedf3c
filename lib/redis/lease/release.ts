/**
 * The end of an id: a hold, a position in the queue, or the trace of a call whose answer never came. Invariant: a
 * release resolves to true only if it gave a hold back, and to false only if the server reported none. It rejects if the
 * deciding answer is missing.
 *
 * @module
 */
import { ClientClosedError, explain, mayHaveRun, NoAnswerError, UnknownOutcomeError } from "../errors.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import type { Closable, Was } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { assertRules } from "../sound.ts";
import { backoff, commandLimit, LEAST_LIMIT, LEAST_RELEASING, now } from "../times.ts";

/** Gives back a hold that is trusted until the given time otherwise. */
export function release(spec: ResourceSpec, id: string, until: number): Promise<boolean> {
  return new Release(spec, id, until, false).result;
}

/** Releases without a waiting caller, for one ttl. Without an answer, the hold or position expires. */
export function releaseInBackground(spec: ResourceSpec, id: string): void {
  new Release(spec, id, now() + spec.settings.ttl, true).result.catch(() => {});
}

function limitOf(ttl: number): number {
  return commandLimit(ttl, LEAST_LIMIT.release);
}

class Release implements Closable {
  index: number = -1;
  readonly result: Promise<boolean>;
  readonly #spec: ResourceSpec;
  readonly #id: string;
  readonly #until: number;
  /** Whether no caller waits, so that an acquire of this id may arrive later. */
  readonly #inBackground: boolean;
  readonly #next: LocalTimer;
  readonly #end: LocalTimer;
  #attempts = 0;
  /** Attempts that may have run and have no answer yet, and attempts that never get one. */
  #inFlight = 0;
  #unanswered = 0;
  #failure: unknown;
  /** Whether the server has reported no hold, perhaps due to an earlier attempt. */
  #over = false;
  #settled = false;
  #resolve!: (released: boolean) => void;
  #reject!: (error: unknown) => void;

  constructor(spec: ResourceSpec, id: string, until: number, inBackground: boolean) {
    this.#spec = spec;
    this.#id = id;
    this.#inBackground = inBackground;
    this.#next = new LocalTimer(() => this.#attempt(), !inBackground);
    this.#end = new LocalTimer(() => this.#giveUp(), !inBackground);
    const time = now();
    this.#until = Math.max(until, time + LEAST_RELEASING);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    spec.namespace.store.onClose(this);
    this.#attempt(time); // first, because its time ends sooner and moving a timer takes time
    this.#end.set(this.#until, time);
  }

  close(): void {
    if (this.#inFlight > 0) this.#giveUp();
    else this.#attempt(); // rejects
  }

  #attempt(time = now()): void {
    const attempt = this.#attempts++;
    const { namespace: { store }, settings: { ttl } } = this.#spec;
    const { losses } = store;
    const late = this.#inBackground;
    this.#inFlight++;
    // A late answer still counts; without one by then, the command is sent again.
    this.#next.set(time + limitOf(ttl), time);
    store.release(this.#spec, this.#id, Math.max(1, this.#until - time), late, attempt > 0 && !late).then(
      (was) => this.#answered(was, store.losses !== losses),
      (error) => this.#failed(error, attempt),
    );
  }

  /** @param again Whether the client may have sent it again, so that the first run has no answer. */
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
    if (mayHaveRun(error)) this.#unanswered++;
    if (this.#settled) return;
    if (this.#over) return this.#decide();
    const { namespace: { store }, what } = this.#spec;
    // In the background every refusal counts as passing, since rights, for example, may change.
    const mayPass = store.mayPass(error) || (this.#inBackground && !store.closed);
    if (!mayPass) return this.#settle(() => this.#reject(explain(`release ${what}`, error)));
    if (this.#inFlight === 0) this.#next.set(now() + backoff(attempt));
  }

  /** The hold is over, by an attempt without an answer or before the first attempt. */
  #decide(): void {
    if (this.#settled) return;
    this.#next.clear();
    if (this.#inFlight > 0) return; // an earlier attempt may still report that it gave the hold back
    if (this.#unanswered === 0) this.#settle(() => this.#resolve(false));
    else this.#giveUp();
  }

  #giveUp(): void {
    if (this.#settled) return;
    if (this.#inFlight + this.#unanswered === 0) return this.#settle(() => this.#resolve(false)); // refused to the end
    const { namespace: { store }, what } = this.#spec;
    const silence = () => store.closed ? new ClientClosedError() : new NoAnswerError("Redis gave no answer in time");
    this.#settle(() => this.#reject(new UnknownOutcomeError(`release ${what}`, this.#failure ?? silence())));
  }

  assertSound(): void {
    assertRules(`release of ${this.#spec.what}`, {
      "it has settled": !this.#settled,
      "no attempt is in flight or follows": this.#inFlight > 0 || this.#next.at < Infinity,
    });
  }

  #settle(settle: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#next.clear();
    this.#end.clear();
    this.#spec.namespace.store.offClose(this);
    settle();
  }
}
