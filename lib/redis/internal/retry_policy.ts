/**
 * How long a call goes on trying while Redis cannot be reached. Invariants: no command gets more time than its call has
 * left; a call that nothing else ends, neither a timeout nor a signal, fails one ttl after the first of the commands in a
 * row that failed was sent.
 *
 * @module
 */
import { NoAnswerError } from "../errors.ts";
import { now } from "./clock.ts";

/** Trying for a shorter time than this would not outlive the loss of one connection. */
const LEAST = 250;

export class Patience {
  readonly #ttl: number;
  readonly #endsAt: number;
  readonly #endless: boolean;
  #failures = 0;
  #refusals = 0;
  #sentAt = 0;
  #failingSince: number | undefined;
  #failure: unknown;

  /**
   * @param endsAt Local time at which the call ends in any case.
   * @param endless Whether neither a timeout nor a signal ends it.
   */
  constructor(ttl: number, endsAt: number, endless: boolean) {
    this.#ttl = ttl;
    this.#endsAt = endsAt;
    this.#endless = endless;
  }

  /** What stands in the way; undefined after an answer. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Milliseconds since the last command was sent. */
  get since(): number {
    return now() - this.#sentAt;
  }

  /** A command is going to be sent. Answers how long it may take. */
  begin(): number {
    this.#sentAt = now();
    const usual = Math.min(Math.max(this.#ttl / 3, 1000), 5000);
    return Math.max(1, Math.min(usual, Math.min(this.#endsAt, this.#failsAt) - this.#sentAt));
  }

  /** A command came too late by the server's clock. Answers whether to ask again at once. */
  refused(): boolean {
    return this.#refusals++ < 3;
  }

  answered(): void {
    this.#failures = this.#refusals = 0;
    this.#failingSince = this.#failure = undefined;
  }

  /** Answers when to try again; undefined once that has been done for long enough. */
  failed(error: unknown): number | undefined {
    // No answer to a last, short attempt tells less than what the server or the connection said before.
    if (this.#failure === undefined || !(error instanceof NoAnswerError)) this.#failure = error;
    this.#failingSince ??= this.#sentAt;
    const time = now();
    const end = this.#failsAt;
    const wait = Math.min(25 * 2 ** this.#failures++, 1000) * (0.5 + Math.random());
    return time < end ? Math.min(time + wait, end) : undefined;
  }

  get #failsAt(): number {
    return this.#endless ? (this.#failingSince ?? this.#sentAt) + Math.max(this.#ttl, LEAST) : Infinity;
  }
}
