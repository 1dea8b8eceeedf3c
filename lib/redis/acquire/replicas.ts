/**
 * Grants that replicas have. Invariant: with the option `replicas` a call resolves only to a lease that the replicas
 * have confirmed while it was held; an unconfirmed one is released before the next attempt.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import type { WaitOptions } from "../../types.ts";
import { onCancel, pause, reasonOf } from "../../internal/cancellation.ts";
import { acquire, acquireOnce } from "./acquire_call.ts";
import { RetryPolicy } from "./retry_policy.ts";
import { timedOutError } from "./server_call.ts";
import { now } from "../times.ts";
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
  readonly #retry: RetryPolicy;

  constructor(spec: ResourceSpec, limits: WaitOptions) {
    this.#spec = spec;
    this.#signal = limits.signal;
    this.#timeout = limits.timeout ?? Infinity;
    this.#retry = new RetryPolicy(spec.settings.ttl, limits);
  }

  async acquire(): Promise<Lease> {
    for (;;) {
      const lease = await this.#granted();
      this.#retry.begin();
      try {
        await this.#cancellable(() => confirm(this.#spec, lease));
        return lease;
      } catch (error) {
        releaseUnconfirmed(lease);
        await this.#pause(this.#againAt(error));
      }
    }
  }

  async #granted(): Promise<Lease> {
    const timeout = this.#timeout === 0 ? 0 : this.#rest();
    try {
      return await acquire(this.#spec, { signal: this.#signal, timeout });
    } catch (error) {
      throw error instanceof TimeoutError ? this.#timedOut(this.#retry.failure ?? error.cause) : error;
    }
  }

  /** Throws if there is no other attempt after this error. */
  #againAt(error: unknown): number {
    if (this.#signal?.aborted) throw reasonOf(this.#signal);
    if (error instanceof TimeoutError) throw error;
    const { store } = this.#spec.client;
    const againAt = this.#retry.failed(error);
    const mayPass = store.mayPass(error) || (error instanceof ReplicaError && !store.closed);
    if (againAt === undefined || !mayPass) throw explain(`acquire ${this.#spec.what}`, error);
    if (this.#timeout === 0) throw this.#timedOut(error);
    return againAt;
  }

  /** With the time of the whole call. */
  #timedOut(cause = this.#retry.failure): TimeoutError {
    return timedOutError(this.#spec, this.#timeout, cause);
  }

  /** Ends early if the call does: the next attempt then rejects. */
  async #pause(until: number): Promise<void> {
    await pause(Math.max(0, Math.min(until, this.#retry.endsAt) - now()), this.#signal);
    if (until >= this.#retry.endsAt && !this.#signal?.aborted) throw this.#timedOut();
  }

  /** Settles as the promise of `begin` does, or with the call's end; begins nothing if that was before. */
  #cancellable(begin: () => Promise<void>): Promise<void> {
    const signal = this.#signal;
    if (signal?.aborted) return Promise.reject(reasonOf(signal));
    // With a timeout of 0 only the replicas' own one ends the confirmation.
    const timeout = this.#timeout === 0 ? Infinity : this.#rest();
    return new Promise((resolve, reject) => {
      const limit = onCancel({ signal, timeout }, (outcome) => {
        reject(outcome === "aborted" ? reasonOf(signal!) : this.#timedOut());
      });
      begin().finally(() => limit.end()).then(resolve, reject);
    });
  }

  #rest(): number {
    return Math.max(1, this.#retry.endsAt - now());
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
  const reached = await client.store.wait!(count, timeout).catch((error) => {
    // No silence of the server: it answers the commands of the other attempts.
    throw error instanceof NoAnswerError ? new ReplicaError(error.message, { cause: error }) : error;
  });
  if (!lease.held) throw new ReplicaError(LOST);
  if (!(reached >= count)) throw new ReplicaError(`${reached} of ${count} replicas had the grant after ${timeout} ms`);
}

function releaseUnconfirmed(lease: Lease): void {
  lease.release().catch(() => {
    // It ends with its time.
  });
}
