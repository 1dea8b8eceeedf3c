/**
 * Shows which lock hangs, its holder, and since when: events, metrics, traces and a watchdog for every primitive, local
 * or remote.
 *
 * Everything is off by default, at the cost of one comparison for each wait, grant and release.
 *
 * @module diagnostics
 */
export type { DiagnosticEvent, GiveUpEvent, GrantEvent, Observer, ReleaseEvent, WaitEvent } from "./events.ts";
export type { ObservedCall, ObservedThing } from "./acquisition.ts";
export type { GiveUpOutcome } from "../internal/hook.ts";
export { observe } from "./observe.ts";
export { channels } from "./channels.ts";
export type { CounterLike, HistogramLike, MeterLike, MetricOptions, MetricsOptions } from "./metrics.ts";
export { metrics } from "./metrics.ts";
export { type Trace, trace, type TraceOptions } from "./trace.ts";
export type { TraceEvent, TraceJson } from "./trace_json.ts";
export { type CallSnapshot, snapshot, type ThingSnapshot } from "./snapshot.ts";
export type { CallSite } from "./call_site.ts";
export { type Watchdog, watchdog, type WatchdogOptions } from "./watchdog.ts";
export { DeadlockError } from "./deadlock.ts";
export { SyncError } from "../errors.ts";
export type { Finding, FoundCall } from "./finding.ts";
