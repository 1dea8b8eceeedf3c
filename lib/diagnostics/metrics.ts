/**
 * The events as OpenTelemetry metrics.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { checkFunction, checkOptions, must } from "../internal/check.ts";
import type { Resource } from "../internal/hook.ts";
import { onceFor } from "../internal/once.ts";
import type { Acquisition } from "./acquisition.ts";
import type { GiveUpEvent, GrantEvent, ReleaseEvent, WaitEvent } from "./events.ts";
import { hub } from "./hub.ts";
import type { Listener } from "./listeners.ts";

/** Options of an instrument. */
export interface MetricOptions {
  /** The measured quantity, in a sentence. */
  readonly description: string;
  /** In UCUM: "s" or "{call}". */
  readonly unit: string;
  /** Boundaries that fit the unit, for histograms. */
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

/** An OpenTelemetry counter or up-down counter. */
export interface CounterLike {
  /** Adds a number. */
  add(value: number, attributes: { [name: string]: string }): void;
}

/** An OpenTelemetry histogram. */
export interface HistogramLike {
  /** Records a number. */
  record(value: number, attributes: { [name: string]: string }): void;
}

/** The part of OpenTelemetry's `Meter` that is used here. */
export interface MeterLike {
  /** Creates a histogram. */
  createHistogram(name: string, options: MetricOptions): HistogramLike;
  /** Creates a counter that goes up and down. */
  createUpDownCounter(name: string, options: MetricOptions): CounterLike;
  /** Creates a counter that goes up. */
  createCounter(name: string, options: MetricOptions): CounterLike;
}

/** Options of {@linkcode metrics}. */
export interface MetricsOptions {
  /**
   * Turns a name into the attribute `interlock.name`; undefined leaves it out. If names contain ids, each would be a
   * series of its own: use `(name) => name.replace(/:.*$/, "")`. Called once for each primitive. Default: the name
   * itself.
   */
  readonly name?: ((name: string) => string | undefined) | undefined;
}

/** From half a millisecond to a minute, in seconds. */
const BOUNDARIES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Records OpenTelemetry metrics until the result is disposed of:
 *
 * - `interlock.wait.duration` (histogram, s): the wait of each call, 0 for a free acquire
 * - `interlock.hold.duration` (histogram, s): how long each hold lasted
 * - `interlock.waiters`, `interlock.holders` (up-down counters): present numbers
 * - `interlock.give_ups` (counter): calls that ended without a grant
 * - `interlock.renewal_failures` (counter): renewals of a lease that failed or were not answered in time
 *
 * The attributes are `interlock.kind`, `interlock.name` if there is one, and `interlock.outcome`: "timeout", "aborted",
 * "full" or "error" for calls that ended without a grant, "lost" for lost leases. Keys are never attributes, because
 * their number is unlimited.
 *
 * @param meter An OpenTelemetry meter, as in `metrics.getMeter("interlock")` of `@opentelemetry/api`.
 * @param options `name`: how names become attributes.
 * @throws {TypeError} when `meter` is not a meter, or `name` is not a function.
 *
 * @example
 * ```ts
 * import { metrics, type MeterLike } from "@interlock/interlock/diagnostics";
 *
 * function start(meter: MeterLike) {
 *   using _measuring = metrics(meter);
 *   // … the program
 * }
 * ```
 */
export function metrics(meter: MeterLike, options: MetricsOptions = {}): Disposable {
  const { createHistogram, createUpDownCounter, createCounter } = (meter ?? {}) as Partial<MeterLike>;
  const isMeter = [createHistogram, createUpDownCounter, createCounter].every((one) => typeof one === "function");
  must(isMeter, "meter", 'be an OpenTelemetry Meter, such as provider.getMeter("interlock")', meter);
  const { name: nameOf = (name: string) => name } = checkOptions(options, "name");
  checkFunction(nameOf, "name");
  const instruments = new Instruments(meter, nameOf);
  instruments.countPresent(1);
  const listening = hub.listen(instruments);
  let isOn = true;
  return {
    [DISPOSE]() {
      if (isOn) instruments.countPresent(-1); // subtract the present counts, which are no longer updated
      isOn = false;
      listening[DISPOSE]();
    },
  };
}

class Instruments implements Listener {
  readonly #waits: HistogramLike;
  readonly #holds: HistogramLike;
  readonly #waiters: CounterLike;
  readonly #holders: CounterLike;
  readonly #giveUps: CounterLike;
  readonly #renewalFailures: CounterLike;
  /** Computed once for each resource, so that counters go down in the series in which they went up. */
  readonly #attributesOf: (resource: Resource) => Record<string, string>;

  constructor(meter: MeterLike, nameOf: (name: string) => string | undefined) {
    this.#attributesOf = onceFor(({ kind, name }: Resource) => {
      const shownName = name === undefined ? undefined : nameOf(name);
      return { "interlock.kind": kind, ...shownName !== undefined && { "interlock.name": shownName } };
    });
    const histogram = (name: string, description: string) =>
      meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: BOUNDARIES } });
    this.#waits = histogram("interlock.wait.duration", "Time from the call to its grant or its end");
    this.#holds = histogram("interlock.hold.duration", "Time from the grant to the release");
    const upDown = (name: string, description: string, unit: string) =>
      meter.createUpDownCounter(name, { description, unit });
    this.#waiters = upDown("interlock.waiters", "Calls that wait now", "{waiter}");
    this.#holders = upDown("interlock.holders", "Present holds", "{holder}");
    const counter = (name: string, description: string, unit: string) =>
      meter.createCounter(name, { description, unit });
    this.#giveUps = counter("interlock.give_ups", "Calls that ended without a grant", "{call}");
    this.#renewalFailures = counter("interlock.renewal_failures", "Renewals without success", "{renewal}");
  }

  /** Adds the present waits and holds to the counters, or subtracts them. */
  countPresent(sign: 1 | -1): void {
    for (const acquisition of hub.registry.present()) {
      const counter = acquisition.state === "holds" ? this.#holders : this.#waiters;
      counter.add(sign, this.#attributesOf(acquisition.resource));
    }
  }

  wait(_event: WaitEvent, acquisition: Acquisition): void {
    this.#waiters.add(1, this.#attributesOf(acquisition.resource));
  }

  grant({ waited }: GrantEvent, acquisition: Acquisition): void {
    const attributes = this.#attributesOf(acquisition.resource);
    if (acquisition.hasWaited) this.#waiters.add(-1, attributes);
    if (acquisition.createsHold) this.#holders.add(1, attributes);
    this.#waits.record(waited / 1000, attributes);
  }

  giveUp({ waited, outcome }: GiveUpEvent, acquisition: Acquisition): void {
    const attributes = this.#attributesOf(acquisition.resource);
    const withOutcome = { ...attributes, "interlock.outcome": outcome };
    if (acquisition.hasWaited) this.#waiters.add(-1, attributes);
    this.#giveUps.add(1, withOutcome);
    this.#waits.record(waited / 1000, withOutcome);
  }

  failRenewal(resource: Resource): void {
    this.#renewalFailures.add(1, this.#attributesOf(resource));
  }

  release({ held, outcome }: ReleaseEvent, acquisition: Acquisition): void {
    const attributes = this.#attributesOf(acquisition.resource);
    this.#holders.add(-1, attributes);
    const withOutcome = outcome === undefined ? attributes : { ...attributes, "interlock.outcome": outcome };
    this.#holds.record(held / 1000, withOutcome);
  }
}
