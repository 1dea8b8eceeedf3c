/**
 * Grants that replicas have. Invariant: with the option `replicas` a call resolves only to a lease that the replicas
 * have confirmed while it was held; an unconfirmed one is released before the next attempt.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import type { WaitOptions } from "../../types.ts";
import { onCancel, pause } from "../../internal/cancellation.ts";
import { acquire, tryAcquire } from "./acquisition.ts";
import { now } from "./clock.ts";
import { explain, RedisError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { timedOutError } from "./settlement.ts";

/** Waits in the queue, and for the replicas. */
export function acquireLease(spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  if (spec.settings.replicas === undefined) return acquire(spec, options);
  return new ReplicatedCall(spec, options).acquire();
}

/** One attempt, without waiting in the queue. */
export async function tryAcquireLease(spec: ResourceSpec): Promise<Lease | undefined> {
  const lease = await tryAcquire(spec);
  if (lease === undefined || spec.settings.replicas === undefined) return lease;
  try {
    await confirm(spec, lease);
  } catch (error) {
    releaseUnconfirmed(lease);
    throw explain(`acquire ${spec.what}`, error);
  }
  return lease;
}

/** One call: an acquisition, then the replicas, and again until both have succeeded. */
class ReplicatedCall {
  readonly #spec: ResourceSpec;
  readonly #signal: AbortSignal | undefined;
  readonly #timeout: number;
  readonly #startedAt = now();
  #failure: unknown;
  #failingSince: number | undefined;

  constructor(spec: ResourceSpec, { signal, timeout = Infinity }: WaitOptions) {
    this.#spec = spec;
    this.#signal = signal;
    this.#timeout = timeout;
  }

  async acquire(): Promise<Lease> {
    for (let attempt = 0;; attempt++) {
      const lease = await this.#granted();
      try {
        await this.#cancellable(confirm(this.#spec, lease));
        return lease;
      } catch (error) {
        releaseUnconfirmed(lease);
        this.#check(error);
        await this.#cancellable(pause(Math.min(25 * 2 ** attempt, 1000)));
      }
    }
  }

  async #granted(): Promise<Lease> {
    const timeout = this.#timeout === 0 ? 0 : this.#rest();
    try {
      return await acquire(this.#spec, { signal: this.#signal, timeout });
    } catch (error) {
      throw error instanceof TimeoutError ? this.#timedOut(this.#failure ?? error.cause) : error;
    }
  }

  /** Throws if there is no other attempt after this error. */
  #check(error: unknown): void {
    if (this.#signal?.aborted && error === this.#signal.reason) throw error;
    if (error instanceof TimeoutError) throw error;
    this.#failure = error;
    this.#failingSince ??= now();
    if (this.#timeout === 0) throw this.#timedOut(error);
    const forever = this.#timeout === Infinity && this.#signal === undefined;
    const tooLong = forever && now() - this.#failingSince >= this.#spec.settings.ttl;
    if (tooLong || this.#spec.connection.closed) throw explain(`acquire ${this.#spec.what}`, error);
  }

  /** With the time of the whole call. */
  #timedOut(cause: unknown): TimeoutError {
    return timedOutError(this.#spec, this.#timeout, cause);
  }

  /** Settles as `promise` does, or with the call's end. */
  #cancellable(promise: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const signal = this.#signal;
      if (signal?.aborted) return reject(signal.reason);
      // With a timeout of 0 only the replicas' own one ends the confirmation.
      const timeout = this.#timeout === 0 ? Infinity : this.#rest();
      const end = onCancel({ signal, timeout }, (outcome) => {
        reject(outcome === "aborted" ? signal?.reason : this.#timedOut(this.#failure));
      });
      promise.finally(() => end.end()).then(resolve, reject);
    });
  }

  #rest(): number {
    return Math.max(1, this.#timeout - (now() - this.#startedAt));
  }
}

/** Milliseconds beyond their timeout for the answer about the replicas. */
const ON_THE_WAY = 1000;

/** Resolves once enough replicas have the grant; rejects otherwise. */
async function confirm({ connection, settings: { replicas } }: ResourceSpec, lease: Lease): Promise<void> {
  const { count, timeout } = replicas!;
  // WAIT covers the writes of its own connection, and another client may have granted the lease.
  await lease.extend();
  const reached = await within(timeout + ON_THE_WAY, connection.backend.wait!(count, timeout));
  if (!lease.held) throw new RedisError("the lease was lost before the replicas had it");
  if (reached < count) throw new RedisError(`${reached} of ${count} replicas had the grant after ${timeout} ms`);
}

function releaseUnconfirmed(lease: Lease): void {
  lease.release().catch(() => {
    // It ends with its time.
  });
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = onCancel({ timeout: ms }, () => reject(new RedisError(`Redis gave no answer within ${ms} ms`)));
    promise.finally(() => end.end()).then(resolve, reject);
  });
}
