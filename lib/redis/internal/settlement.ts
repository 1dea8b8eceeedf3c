/**
 * The end of one acquisition. Invariants: the call settles in one synchronous step, granted or cancelled; after a
 * cancellation, the id is released in the background if Redis may know it.
 *
 * @module
 */
import type { TimeoutError } from "../../errors.ts";
import { type Cancellable, CancelRegistration, timedOut } from "../../internal/cancellation.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import { livenessOf } from "./acquire_arguments.ts";
import type { AcquireCommand } from "./acquire_command.ts";
import type { AcquirePause } from "./acquire_pause.ts";
import { LeaseHandle } from "./lease_handle.ts";
import type { Lease } from "../lease.ts";
import type { ResourceSpec } from "./resource_spec.ts";

export class Settlement {
  readonly lease: Promise<Lease | undefined>;
  readonly limits: CancelRegistration;
  readonly #spec: ResourceSpec;
  readonly #command: AcquireCommand;
  readonly #pause: AcquirePause;
  readonly #call: object;
  #settled = false;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;

  constructor(
    spec: ResourceSpec,
    command: AcquireCommand,
    pause: AcquirePause,
    call: Cancellable<CancelRegistration>,
  ) {
    this.#spec = spec;
    this.#command = command;
    this.#pause = pause;
    this.#call = call;
    this.limits = new CancelRegistration(call);
    this.lease = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** @param deadline Local time of the lease's end, drift taken off. */
  grant(fence: number, deadline: number): void {
    const { resource, weight, settings: { ttl } } = this.#spec;
    const { id, gap, inFlightUntil } = this.#command;
    const keptFor = livenessOf(ttl) - ttl;
    this.#command.known = false; // by the lease's release from now on
    const grant = { id, fence, deadline, gap, inFlightUntil, keptFor, call: this.#call };
    const lease = new LeaseHandle(this.#spec, grant);
    this.#settle(() => this.#resolve(lease));
    if (hook !== undefined) hook.grant(resource, this.#call, weight);
  }

  /** The call does not wait, and the resource is not free. */
  refuse(): void {
    this.#command.known = false;
    this.#settle(() => this.#resolve(undefined));
  }

  /** @param cause The failure of the connection, if the call has just not been answered. */
  timeOut(timeout: number, cause: unknown): void {
    this.cancel(timedOutError(this.#spec, timeout, cause), "timeout");
  }

  cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.#settled) return;
    this.#settle(() => this.#reject(reason));
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this.#call, outcome);
  }

  #settle(settle: () => void): void {
    this.#settled = true;
    this.limits.end();
    this.#spec.connection.subscription.delete(this.#command.id);
    // Before the caller continues, so that no later command of this process finds a trace.
    if (this.#pause.active) this.#command.releaseById();
    settle();
    this.#pause.stop();
  }
}

/** @param cause The failure of the connection, if that was the obstacle. */
export function timedOutError({ what, resource }: ResourceSpec, timeout: number, cause?: unknown): TimeoutError {
  const options = cause === undefined ? undefined : { cause };
  return timedOut(`acquire ${what}`, timeout, hook?.holderOf(resource), options);
}
