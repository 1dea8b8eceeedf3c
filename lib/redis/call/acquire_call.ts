/**
 * One call that acquires: it asks until it has a lease. In the queue it pauses until its next heartbeat, or until the
 * life of a holder or waiter ends, which may have crashed. It takes a pushed grant at once: the server keeps the grant
 * for one ttl from the last command that it has answered. Invariant: nothing is sent once the call has settled, except
 * to release its id if the server may know it and no lease has it.
 *
 * @module
 */
import { admit } from "../../internal/check.ts";
import { hook } from "../../internal/hook.ts";
import type { WaitOptions } from "../../types.ts";
import { warnDiffering } from "../differing.ts";
import { UnansweredError } from "../errors.ts";
import type { Lease } from "../lease.ts";
import { LeaseHandle } from "../lease/lease_handle.ts";
import type { Grant } from "../lease/lease_hold.ts";
import { releaseInBackground } from "../lease/release.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import type { SentCommand } from "../store/commands.ts";
import type { AcquireAnswer, AcquireRequest, Waiting } from "../store/store.ts";
import { AFTER_LIFE_END, heartbeatOf, LIFE_ENDS_APART, type Moment, now, trustedTime } from "../times.ts";
import { ServerCall } from "./server_call.ts";
import type { Listener } from "./subscription.ts";

/** Waits in the queue. Throws for bad options, and if the signal is aborted. */
export function acquire(spec: ResourceSpec, options: WaitOptions | undefined): Promise<Lease> {
  return new AcquireCall(spec, admit(options) ?? {}).result as Promise<Lease>;
}

/** Asks once without joining the queue, or takes over the hold with the id `adopts`. */
export function acquireOnce(spec: ResourceSpec, adopts?: string): Promise<Lease | undefined> {
  return new AcquireCall(spec, undefined, adopts).result;
}

/** The object itself is the hook's `call` for this acquisition and its lease. */
class AcquireCall extends ServerCall<ResourceSpec, AcquireAnswer, Lease> implements AcquireRequest, Grant, Listener {
  readonly id: string = this.spec.namespace.store.ids.next();
  readonly queue: string = this.spec.keys[0];
  readonly adopts: string | undefined;
  /** Its position in the queue; 0 before the first answer. */
  position = 0;
  trustedFrom!: Moment;
  /** Of the grant, which has a larger one than all before; until then the last token at the server's answer. */
  fence = 0;
  /** The token of a push that has overtaken the first answer. */
  #pushed = 0;
  /** Local times of the next heartbeat and of the first end of a life. */
  #heartbeatAt = 0;
  #lifeEndsAt = Infinity;
  /** The number of gaps in messages when the last command was sent. */
  #gapsAtSending = 0;

  constructor(spec: ResourceSpec, limits: WaitOptions | undefined, adopts?: string) {
    super(spec, spec.weight, limits, spec.settings.ttl);
    this.adopts = adopts;
    this.retries ||= adopts !== undefined;
    this.begin(limits?.signal);
  }

  // Asking.

  protected send(command: SentCommand): Promise<AcquireAnswer> {
    const { store, subscription } = this.spec.namespace;
    // Add it now: a push can arrive before the answer.
    if (this.waits && subscription.live) subscription.add(this.id, this);
    this.#gapsAtSending = subscription.gaps;
    return store.acquire(this, command);
  }

  protected onAnswer(answer: AcquireAnswer, sent: Moment): void {
    if (this.settled) return;
    this.trustedFrom = sent;
    const { what, limit } = this.spec;
    if (answer.differingLimit) warnDiffering(what, `${limit} permits`, `${answer.differingLimit} permits`);
    if (answer.kind === "waiting") {
      if (this.waits && answer.position !== 0) this.#queued(answer, sent);
      else if (!answer.unfinished) this.refuse();
      if (answer.unfinished) this.ask();
    } else if (this.#canTrust(sent)) {
      this.#hold(answer.fence, answer.weight);
      const hasMissed = this.position !== 0 && this.spec.layout === "semaphore";
      if (hasMissed) this.spec.namespace.subscription.checkFirstOf(this.queue); // that waiter may hold too
    } else {
      if (!this.retry.grantedTooLate()) throw new UnansweredError("the answer came too late");
      return this.ask();
    }
    this.retry.answered();
  }

  /** Whether any time is left of a lease that the server has granted or prolonged since that moment. */
  #canTrust(sent: Moment): boolean {
    return sent.at + trustedTime(this.spec.settings.ttl) > now();
  }

  #queued(answer: Waiting, sent: Moment): void {
    const { namespace: { subscription }, settings: { ttl }, resource, what } = this.spec;
    const joins = this.position === 0;
    this.position = answer.position;
    this.fence = answer.fence;
    if (joins && hook !== undefined) {
      this.reportWait();
      const deadlock = hook.deadlockErrorOf(resource, this, `acquire ${what}`);
      if (deadlock !== undefined) this.fail(deadlock, "error");
    }
    this.#heartbeatAt = sent.at + heartbeatOf(ttl);
    this.#lifeEndsAt = Math.max(now() + answer.endsIn + AFTER_LIFE_END, sent.at + LIFE_ENDS_APART);
    if (this.settled) return;
    subscription.add(this.id, this);
    const pushed = this.#pushed;
    this.#pushed = 0;
    if (pushed !== 0) return this.granted(pushed);
    if (this.#gapsAtSending === subscription.gaps) {
      if (answer.foundNoSubscriber) subscription.restart();
    } else if (subscription.isFirst(this)) return this.ask(); // it may have been granted without a message
    this.reschedule();
  }

  // Pausing.

  /** Sets the time of the next command: at the end of a life, only one waiter of each queue in a process asks. */
  reschedule(): void {
    // While a command is in flight, its answer sets the next time.
    if (this.isAsking || this.settled) return;
    const isFirst = this.spec.namespace.subscription.isFirst(this);
    this.pauseUntil(isFirst ? Math.min(this.#heartbeatAt, this.#lifeEndsAt) : this.#heartbeatAt);
  }

  checkTurn(withinMs?: number): void {
    if (withinMs === undefined) this.ask();
    else if (!this.isAsking) this.timer.setNoLaterThan(now() + Math.random() * withinMs);
  }

  granted(fence: number): void {
    if (this.settled) return;
    const isRenewed = this.spec.settings.renew === Infinity;
    if (this.position === 0) this.#pushed = fence;
    else if (fence > this.fence && isRenewed && this.#canTrust(this.trustedFrom)) this.#hold(fence);
    // An unrenewed lease must last for its whole ttl, and nothing may be left after a late push: the answer decides.
    else this.ask();
  }

  // Settled.

  #hold(fence: number, weight = this.spec.weight): void {
    this.fence = fence;
    const lease = new LeaseHandle(this);
    this.grant(lease, weight, lease);
  }

  /**
   * Releases its id if the server may know it, unless a lease does. At once, so that no later command of this process
   * finds a trace.
   */
  protected cleanUp(isGranted: boolean): void {
    this.spec.namespace.subscription.delete(this.id);
    const isKnown = this.position !== 0 || this.mayHaveRun;
    if (isKnown && !isGranted) void releaseInBackground(this.spec, this.id);
  }
}
