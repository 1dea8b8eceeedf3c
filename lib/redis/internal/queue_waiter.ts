/**
 * A call that waits in the queue: the messages that reach it, and the time at which it asks next. Invariant: while a
 * command is in flight, its answer decides; a pushed grant is taken only without one.
 *
 * @module
 */
import type { Waiting } from "./acquire_command.ts";
import type { AcquirePause } from "./acquire_pause.ts";
import { now } from "./clock.ts";
import type { Listener } from "./listeners.ts";
import { QueuePosition } from "./queue_position.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import type { Settlement } from "./settlement.ts";
import type { Subscription } from "./subscription.ts";

export class QueueWaiter implements Listener {
  readonly queue: string;
  readonly #id: string;
  readonly #subscription: Subscription;
  readonly #pause: AcquirePause;
  readonly #settlement: Settlement;
  readonly #position: QueuePosition;
  /** Asked because messages may have been missed, as were many others. */
  #spread = false;

  constructor(
    id: string,
    { connection, keys, settings }: ResourceSpec,
    pause: AcquirePause,
    settlement: Settlement,
  ) {
    this.queue = keys[1];
    this.#id = id;
    this.#subscription = connection.subscription;
    this.#pause = pause;
    this.#settlement = settlement;
    this.#position = new QueuePosition(settings.ttl);
  }

  /** 0 before the first answer. */
  get place(): number {
    return this.#position.place;
  }

  /** A command is going to be sent. */
  asking(): void {
    this.#pause.asking();
    this.#position.asking();
  }

  /** Takes the grant that was pushed, if it can still be trusted. */
  takePushedGrant(): boolean {
    const grant = this.#position.takeGrant(now());
    if (grant !== undefined) this.#settlement.grant(grant.fence, grant.deadline);
    return grant !== undefined;
  }

  /** The server has answered that the call waits. */
  queued(answer: Waiting): void {
    this.#position.queued(answer, this.#spread, now());
    this.#spread = false;
    if (this.#settlement.settled) return;
    this.#subscription.add(this.#id, this);
    if (this.takePushedGrant()) return;
    if (answer.deaf) this.#subscription.restart();
    if (this.#subscription.mayHaveMissed(this.#id, this.queue, answer.sentAt)) return this.ask();
    this.#pause.endAt(this.#position.nextAt);
  }

  // As a listener.

  granted(fence: number, serverTime: number): void {
    if (this.#settlement.settled) return;
    this.#position.granted(fence, serverTime);
    // A command in flight decides. Else, after a long sleep, perhaps it still holds.
    if (this.#pause.active && !this.takePushedGrant()) this.ask();
  }

  leaseEnds(at: number, serverTime: number): void {
    this.#position.leaseEnds(at, serverTime, now());
    // Before the first answer only the next attempt is set, and must stay.
    if (this.#pause.active && this.place !== 0) this.#pause.endAt(this.#position.nextAt);
  }

  ask(within?: number): void {
    this.#spread = true;
    if (within === undefined) this.#pause.skip();
    else this.#pause.endBy(now() + Math.random() * within);
  }
}
