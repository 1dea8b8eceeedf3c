/**
 * The events that observers see. Invariant: each wait ends in exactly one grant or giveUp, and each grant of a hold in
 * one release. All of them carry the id of their acquisition.
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
   * "task-group", "single-flight", "rate-limiter", "web-lock", "web-reader", "web-writer", "redis-lock",
   * "redis-semaphore", "redis-reader", "redis-writer", "redis-key" or "redis-rate-limiter".
   */
  readonly kind: string;
  /** The name passed to the constructor. Undefined for a RedisKeyedMutex, which has only a prefix. */
  readonly name: string | undefined;
  /** The key, for one key of a KeyedMutex or RedisKeyedMutex. */
  readonly key: unknown;
  /** The number of permits asked for; 1 for primitives without permits. */
  readonly permits: number;
  /** When it happened, in ms on the clock of `performance.now()`. For a wait: when the call was made. */
  readonly at: number;
}

/**
 * A call has joined a queue. Over Redis, this includes a call whose first command has failed or had no answer for 100
 * ms. It has waited since that command.
 */
export interface WaitEvent extends DiagnosticEvent {}

/** A call has been granted. A free acquire has a grant without a wait. */
export interface GrantEvent extends DiagnosticEvent {
  /** How long the call waited, in ms. 0 for a free acquire. */
  readonly waited: number;
}

/** A call has left the queue without a grant. A call that was refused by a full queue has only this event. */
export interface GiveUpEvent extends DiagnosticEvent {
  /** How long it waited, in ms. */
  readonly waited: number;
  /** "timeout", "aborted" (by its signal), "full" (queue), or "error" (closed, broken, connection lost). */
  readonly outcome: GiveUpOutcome;
}

/** A hold has ended. */
export interface ReleaseEvent extends DiagnosticEvent {
  /** How long it was held, in ms. */
  readonly held: number;
  /** "lost" for a lost lease; missing for a release. */
  readonly outcome?: "lost";
}

/**
 * Functions called synchronously at each event, in order, with the event and its live call. An error that one of them
 * throws becomes an uncaught error and never reaches the code that uses the lock.
 */
export interface Observer {
  /**
   * A call has joined a queue.
   *
   * @param event What happened, and when.
   * @param call The call that it happened to; the same object in all its events.
   */
  wait?(event: WaitEvent, call: ObservedCall): void;
  /**
   * A call has been granted.
   *
   * @param event What happened, and when.
   * @param call The call that it happened to; the same object in all its events.
   */
  grant?(event: GrantEvent, call: ObservedCall): void;
  /**
   * A call has left the queue without a grant.
   *
   * @param event What happened, and when.
   * @param call The call that it happened to; the same object in all its events.
   */
  giveUp?(event: GiveUpEvent, call: ObservedCall): void;
  /**
   * A hold has ended.
   *
   * @param event What happened, and when.
   * @param call The call that it happened to; the same object in all its events.
   */
  release?(event: ReleaseEvent, call: ObservedCall): void;
}

/** The names of an observer's methods. */
export const EVENT_NAMES: readonly (keyof Observer)[] = ["wait", "grant", "giveUp", "release"];
