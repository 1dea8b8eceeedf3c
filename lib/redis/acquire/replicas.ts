/**
 * Grants that replicas have. Invariant: with the option `replicas` a call resolves only to a lease that the replicas
 * have confirmed while it was held; an unconfirmed one is released before the next attempt.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import type { WaitOptions } from "../../types.ts";
import { type CancelLimits, type CancelOutcome, onCancel, pause, reasonOf } from "../../internal/cancellation.ts";
import { acquire, acquireOnce } from "./acquire_call.ts";
import { timedOutError } from "./server_call.ts";
import { backoff, now, ON_THE_WAY } from "../times.ts";
import { explain, NoAnswerError, ReplicaError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "../resource_spec.ts";

/** Waits in the queue, and for the replicas. */
export function acquireReplicated(spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  return new ReplicatedCall(spec, options).acquire();
}

/** Asks once, without waiting in the queue; or takes over the hold with the id `adopts`. */
export async function acquireOnceReplicated(spec: ResourceSpec, adopts?: string): Promise<Lease | undefined> {
  const lease = await acquireOnce(spec, adopts);
  if (lease === undefined) return undefined;
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
        await this.#pause(backoff(attempt));
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
    if (this.#signal?.aborted) throw reasonOf(this.#signal);
    if (error instanceof TimeoutError) throw error;
    const { store } = this.#spec.client;
    this.#failure = error;
    this.#failingSince ??= now();
    const forever = this.#timeout === Infinity && this.#signal === undefined;
    const tooLong = forever && now() - this.#failingSince >= this.#spec.settings.ttl;
    const mayPass = store.mayPass(error) || (error instanceof ReplicaError && !store.closed);
    if (tooLong || !mayPass) throw explain(`acquire ${this.#spec.what}`, error);
    if (this.#timeout === 0) throw this.#timedOut(error);
  }

  /** With the time of the whole call. */
  #timedOut(cause: unknown): TimeoutError {
    return timedOutError(this.#spec, this.#timeout, cause);
  }

  /** Throws if the call ends meanwhile. */
  async #pause(ms: number): Promise<void> {
    const rest = this.#rest();
    await pause(Math.min(ms, rest), this.#signal);
    if (this.#signal?.aborted) throw reasonOf(this.#signal);
    if (rest <= ms) throw this.#timedOut(this.#failure);
  }

  /** Settles as `promise` does, or with the call's end. */
  #cancellable(promise: Promise<void>): Promise<void> {
    const signal = this.#signal;
    if (signal?.aborted) return Promise.reject(reasonOf(signal));
    // With a timeout of 0 only the replicas' own one ends the confirmation.
    const timeout = this.#timeout === 0 ? Infinity : this.#rest();
    const errorOf = (outcome: CancelOutcome) =>
      outcome === "aborted" ? reasonOf(signal!) : this.#timedOut(this.#failure);
    return within(promise, { signal, timeout }, errorOf);
  }

  #rest(): number {
    return Math.max(1, this.#timeout - (now() - this.#startedAt));
  }
}

const LOST = "the lease was lost before the replicas had it";

/** Resolves once enough replicas have the grant; rejects otherwise. */
async function confirm({ client, settings: { replicas } }: ResourceSpec, lease: Lease): Promise<void> {
  const { count, timeout } = replicas!;
  // WAIT covers the writes of its own connection, and another client may have granted the lease.
  await lease.extend().catch((error) => {
    throw lease.held ? error : new ReplicaError(LOST, { cause: error });
  });
  const limit = timeout + ON_THE_WAY;
  const silent = () => new NoAnswerError(`Redis gave no answer within ${limit} ms`);
  const reached = await within(client.store.wait!(count, timeout), { timeout: limit }, silent);
  if (!lease.held) throw new ReplicaError(LOST);
  if (reached < count) throw new ReplicaError(`${reached} of ${count} replicas had the grant after ${timeout} ms`);
}

function releaseUnconfirmed(lease: Lease): void {
  lease.release().catch(() => {
    // It ends with its time.
  });
}

/** Settles as `promise` does, or rejects with the error of the limit that ends it first. A signal must not be aborted yet. */
function within<T>(
  promise: Promise<T>,
  limits: CancelLimits,
  errorOf: (outcome: CancelOutcome) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = onCancel(limits, (outcome) => reject(errorOf(outcome)));
    promise.finally(() => limit.end()).then(resolve, reject);
  });
}
