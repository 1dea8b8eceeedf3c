/**
 * Local time. Invariant: only the monotonic clock decides anything.
 *
 * @module
 */
import { type CancelRegistration, onCancel } from "../../internal/cancellation.ts";

/** Milliseconds on the monotonic clock. */
export function now(): number {
  return performance.now();
}

/** A timer that can be set again. It keeps the process alive only with `keepsAlive`. */
export class Timer {
  // #registration !== undefined implies that #at is the moment for which it is set
  #registration: CancelRegistration | undefined;
  #at = Infinity;
  readonly #fire: () => void;
  readonly #keepsAlive: boolean;

  constructor(fire: () => void, keepsAlive = false) {
    this.#fire = fire;
    this.#keepsAlive = keepsAlive;
  }

  /** Sets the moment, in place of an earlier one; `Infinity` sets none. `time` is now. */
  set(at: number, time: number = now()): void {
    this.clear();
    if (at === Infinity) return;
    this.#at = at;
    const registration = onCancel({ timeout: Math.max(0, at - time), keepsAlive: this.#keepsAlive }, () => {
      if (this.#registration !== registration) return; // another timer of the same moment has cleared or set this one
      this.clear();
      this.#fire();
    });
    this.#registration = registration;
  }

  /** Sets the moment only if it is earlier than the one that is set. */
  advance(at: number): void {
    if (at < this.#at) this.set(at);
  }

  clear(): void {
    this.#registration?.end();
    this.#registration = undefined;
    this.#at = Infinity;
  }
}
