/**
 * The knowledge of one waiter about its place in the queue: no I/O, no timers. Invariants: it asks at its next
 * heartbeat or when a lease ahead of it ends, whichever is first; of an answer and a message, the later one by the
 * server's clock counts.
 *
 * @module
 */
import { AFTER_LEASE_END, heartbeatOf, jitterOf, LEASE_END_APART, trusted } from "../times.ts";
import { NotifyMode, type Waiting } from "../store/store.ts";

/** A message of the server, with the server's time in microseconds. */
interface Message {
  readonly value: number;
  readonly serverTime: number;
}

export class QueuePosition {
  readonly #ttl: number;
  /** Microseconds; 0 before the first answer. Set in here alone. */
  place = 0;
  #sentAt = 0;
  #serverTime = 0;
  /** The last token when the server answered: that of a grant is larger. */
  #fence = 0;
  #granted: Message | undefined;
  #leaseEnd: Message | undefined;
  #heartbeatAt = Infinity;
  #endsAt = Infinity;
  #notBefore = 0;

  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  /** Local time of the next question. */
  get nextAt(): number {
    return Math.min(this.#heartbeatAt, Math.max(this.#endsAt, this.#notBefore));
  }

  /** A command is going to be sent: messages from before it no longer count. */
  asking(): void {
    this.#granted = undefined;
  }

  /**
   * The server has answered that the caller waits.
   *
   * @param spread Whether many asked at the same moment, so that their next heartbeats are to be far apart.
   * @param time The local time now.
   */
  queued(answer: Waiting, sentAt: number, mode: NotifyMode, spread: boolean, time: number): void {
    const { serverTime, askAt } = answer;
    this.place = answer.place;
    this.#sentAt = sentAt;
    this.#serverTime = serverTime;
    this.#fence = answer.fence;
    this.#notBefore = sentAt + LEASE_END_APART[mode === NotifyMode.push ? "push" : "heartbeat"];
    const beat = heartbeatOf(this.#ttl);
    const jitter = jitterOf(this.#ttl, spread ? Math.max(1000, beat / 2) : Math.min(beat / 10, 100));
    this.#heartbeatAt = sentAt + beat + Math.random() * jitter;
    this.#endsAt = askAt === 0 ? Infinity : toLocal(askAt, serverTime, time);
    // A heartbeat shortly before that end would be a command for nothing; the script names no end further away.
    if (askAt !== 0) this.#heartbeatAt = Math.max(this.#heartbeatAt, this.#endsAt);
    if (this.#leaseEnd !== undefined && this.#leaseEnd.serverTime > serverTime) this.#applyLeaseEnd(time);
  }

  /** The server has pushed when a lease ahead of the caller ends. */
  leaseEnds(at: number, serverTime: number, time: number): void {
    this.#leaseEnd = { value: at, serverTime };
    if (this.place !== 0) this.#applyLeaseEnd(time);
  }

  #applyLeaseEnd(time: number): void {
    const { value, serverTime } = this.#leaseEnd!;
    this.#endsAt = toLocal(value, serverTime, time);
  }

  /** The server has pushed a grant. */
  granted(fence: number, serverTime: number): void {
    this.#granted = { value: fence, serverTime };
  }

  /** The pushed grant, if the place is known and the lease has not ended since. */
  takeGrant(time: number): { fence: number; deadline: number } | undefined {
    if (this.#granted === undefined || this.place === 0) return undefined;
    const { value: fence, serverTime } = this.#granted;
    if (fence <= this.#fence) return undefined;
    // The lease began with the hand-off: as long after the last command as the server's clock says, and before now.
    const began = Math.min(this.#sentAt + (serverTime - this.#serverTime) / 1000, time);
    const deadline = began + trusted(this.#ttl);
    return deadline > time ? { fence, deadline } : undefined;
  }
}

function toLocal(at: number, serverTime: number, time: number): number {
  return time + (at - serverTime) / 1000 + AFTER_LEASE_END;
}
