/**
 * The events that observers see. Invariant: each wait ends in exactly one grant or giveUp, and each grant of something
 * that can be held in one release; all of them carry the id of their acquisition.
 *
 * @module
 */
import type { GiveUpOutcome } from "../internal/hook.ts";
import type { ObservedCall } from "./acquisition.ts";

/** The common part of all events. */
export interface DiagnosticEvent {
  /** Identifies one acquisition: its wait, grant, giveUp and release have the same id. */
  readonly id: number;
  /**
   * "lock", "semaphore", "reader", "writer", "key", "condition", "event", "set-event", "barrier", "queue", "pool",
   * "task-group", "rate-limiter", "web-lock", "web-reader", "web-writer", "redis-lock", "redis-semaphore",
   * "redis-reader", "redis-writer", "redis-key" or "redis-rate-limiter".
   */
  readonly kind: string;
  /** The name passed to the constructor. A RedisKeyedMutex has none: its prefix is no name. */
  readonly name: string | undefined;
  /** The key, for one key of a KeyedMutex or RedisKeyedMutex. */
  readonly key: unknown;
  /** The number of permits asked for; 1 where there are none. */
  readonly permits: number;
  /** When it happened, in ms on the clock of `performance.now()`; of a wait, when the call was made. */
  readonly at: number;
}

/**
 * A call has joined a queue. Over Redis: or its first command has failed, or has had no answer for 100 ms; it has waited
 * from that command on.
 */
export interface WaitEvent extends DiagnosticEvent {}

/** A call has been granted. A free acquire has a grant without a wait. */
export interface GrantEvent extends DiagnosticEvent {
  /** How long it waited, in ms. 0 for a free acquire. */
  readonly waited: number;
}

/** A call has left the queue without a grant. One that was refused because the queue is full has this event alone. */
export interface GiveUpEvent extends DiagnosticEvent {
  /** How long it waited, in ms. */
  readonly waited: number;
  /** "timeout", "aborted" (by its signal), "full" (the queue is), or "error" (closed, broken, connection lost). */
  readonly outcome: GiveUpOutcome;
}

/** A hold has ended. */
export interface ReleaseEvent extends DiagnosticEvent {
  /** How long it was held, in ms. */
  readonly held: number;
  /** "lost" for a lease over Redis that was lost; missing for a release. */
  readonly outcome?: "lost";
}

/**
 * Functions called synchronously at each event, in the order of the events, with the event and with its call as it is
 * now. An error that one of them throws becomes an uncaught error and never reaches the code that uses the lock.
 */
export interface Observer {
  /** A call has joined a queue. */
  wait?(event: WaitEvent, call: ObservedCall): void;
  /** A call has been granted. */
  grant?(event: GrantEvent, call: ObservedCall): void;
  /** A call has left the queue without a grant. */
  giveUp?(event: GiveUpEvent, call: ObservedCall): void;
  /** A hold has ended. */
  release?(event: ReleaseEvent, call: ObservedCall): void;
}

/** The event that each method of an observer gets. */
export interface EventOf {
  wait: WaitEvent;
  grant: GrantEvent;
  giveUp: GiveUpEvent;
  release: ReleaseEvent;
}

/** The names of an observer's methods. */
export type EventName = keyof EventOf;

export const EVENT_NAMES: readonly EventName[] = ["wait", "grant", "giveUp", "release"];
