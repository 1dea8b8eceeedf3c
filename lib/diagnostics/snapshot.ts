/**
 * The present holders and waiters, as plain objects.
 *
 * @module
 */
import type { CallSite } from "./call_site.ts";
import type { Acquisition } from "./acquisition.ts";
import { hub } from "./hub.ts";
import type { Resource } from "../internal/hook.ts";

/** One call that waits or holds. */
export interface CallSnapshot {
  /** The `id` of the events about this call. */
  readonly id: number;
  /** The number of permits asked for. */
  readonly permits: number;
  /** When it began to wait or to hold, in ms on the clock of `performance.now()`. */
  readonly since: number;
  /** How long ago that was, in ms. */
  readonly lasted: number;
  /** Where the call was made, if a watchdog was on at that time. */
  readonly site: CallSite | undefined;
}

/** One resource with its present holders and waiters. */
export interface ThingSnapshot {
  /** As in the events. */
  readonly kind: string;
  /** The name passed to its constructor. */
  readonly name: string | undefined;
  /** The key, for one key of a KeyedMutex or RedisKeyedMutex. */
  readonly key: unknown;
  /** The holders, the longest hold first. */
  readonly holders: readonly CallSnapshot[];
  /** The waiters, the longest wait first. */
  readonly waiters: readonly CallSnapshot[];
}

/**
 * Returns every resource that has a holder or a waiter now. It knows only waits and holds that began while an observer,
 * a watchdog or a trace was on. Over Redis it shows this process; `inspect()` shows all processes.
 *
 * To find hangs, use {@linkcode watchdog}.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 * import { observe, snapshot } from "@interlock/interlock/diagnostics";
 *
 * using _observing = observe({});
 * using _ = await new Lock({ name: "orders" }).acquire();
 * const [orders] = snapshot();
 * console.log(orders?.kind, orders?.holders.length, orders?.waiters.length); // lock 1 0
 * ```
 */
export function snapshot(): ThingSnapshot[] {
  const now = performance.now();
  const things = new Map<Resource, { holders: CallSnapshot[]; waiters: CallSnapshot[] }>();
  for (const acquisition of hub.registry.present()) {
    const { resource, state } = acquisition;
    const calls = things.get(resource) ?? { holders: [], waiters: [] };
    things.set(resource, calls);
    calls[state === "holds" ? "holders" : "waiters"].push(callOf(acquisition, now));
  }
  return [...things].map(([{ kind, name, key }, calls]) => ({ kind, name, key, ...calls }));
}

/** The call as it is at that time. */
export function callOf(acquisition: Acquisition, now: number): CallSnapshot {
  const { id, permits, since, origin } = acquisition;
  return { id, permits, since, lasted: Math.max(0, now - since), site: origin.site };
}
