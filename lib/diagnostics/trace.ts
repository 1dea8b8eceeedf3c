/**
 * Records the events as a trace for Perfetto and Chrome.
 *
 * @module
 */
import { DISPOSE } from "../internal/dispose.ts";
import { checkInteger, checkOptions } from "../internal/check.ts";
import type { Acquisition, Group } from "./acquisition.ts";
import type { GiveUpEvent, GrantEvent, ReleaseEvent } from "./events.ts";
import { hub } from "./hub.ts";
import type { Listener } from "./listeners.ts";
import { drawTrace, type Slice, type TraceJson } from "./trace_json.ts";

/** Options of {@linkcode trace}. */
export interface TraceOptions {
  /** The maximum number of waits and holds to keep; the oldest are dropped first. Default: 100,000. */
  readonly limit?: number | undefined;
}

/** A recording. */
export interface Trace extends Disposable {
  /** The number of waits and holds that were dropped because of the limit. */
  readonly dropped: number;
  /**
   * The recording in Chrome's trace-event format, including present waits and holds. `JSON.stringify(trace)` calls it.
   */
  toJSON(): TraceJson;
}

/**
 * Records waits and holds until it is disposed of; the recording stays readable afterwards. Save
 * `JSON.stringify(trace)` as a file and open it in https://ui.perfetto.dev or chrome://tracing: each named resource and
 * each key has a track, with a slice for each hold and each wait, and an arrow from each release to the grant that it
 * causes.
 *
 * Do not leave it on: it keeps up to `limit` slices in memory.
 *
 * @param options `limit`: how many waits and holds to keep.
 * @throws {TypeError} when `limit` is not a number.
 * @throws {RangeError} when `limit` is not a whole number of 1 or more.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 * import { trace } from "@interlock/interlock/diagnostics";
 *
 * using recording = trace();
 * await new Lock({ name: "orders" }).run(() => {});
 * const { traceEvents } = recording.toJSON();
 * console.log(traceEvents.filter(({ ph }) => ph === "X").length); // 1 (the hold)
 * ```
 */
export function trace(options: TraceOptions = {}): Trace {
  const { limit = 100_000 } = checkOptions(options, "limit");
  checkInteger(limit, "limit", 1);
  return new Recorder(limit);
}

class Recorder implements Trace, Listener {
  dropped = 0;
  readonly #limit: number;
  readonly #listening: Disposable;
  /** In the order in which they ended. Once full it is a ring whose oldest slice is at #oldestIndex. */
  readonly #slices: Slice[] = [];
  #oldestIndex = 0;
  /** The id of the hold that was released last in each group, and of the hold whose release caused each hold. */
  readonly #lastReleases = new WeakMap<Group, number>();
  readonly #causes = new WeakMap<Acquisition, number | undefined>();
  /** The open waits and holds at the time of disposal. */
  #openAtEnd: Slice[] | undefined;

  constructor(limit: number) {
    this.#limit = limit;
    this.#listening = hub.listen(this);
  }

  grant({ at, waited }: GrantEvent, acquisition: Acquisition): void {
    if (acquisition.hasWaited) this.#causes.set(acquisition, this.#lastReleases.get(acquisition.group));
    if (acquisition.hasWaited || !acquisition.createsHold) {
      this.#keep(this.#slice(acquisition, "wait", at - waited, at, "granted"));
    }
  }

  giveUp({ at, waited, outcome }: GiveUpEvent, acquisition: Acquisition): void {
    this.#keep(this.#slice(acquisition, "wait", at - waited, at, outcome));
  }

  release({ id, at, held, outcome }: ReleaseEvent, acquisition: Acquisition): void {
    this.#lastReleases.set(acquisition.group, id);
    this.#keep(this.#slice(acquisition, "hold", at - held, at, outcome ?? "released"));
  }

  toJSON(): TraceJson {
    const ended = [...this.#slices.slice(this.#oldestIndex), ...this.#slices.slice(0, this.#oldestIndex)];
    return drawTrace([...ended, ...(this.#openAtEnd ?? this.#open())], this.dropped);
  }

  [DISPOSE](): void {
    this.#openAtEnd ??= this.#open();
    this.#listening[DISPOSE]();
  }

  #keep(slice: Slice): void {
    if (this.#slices.length < this.#limit) return void this.#slices.push(slice);
    this.#slices[this.#oldestIndex] = slice;
    this.#oldestIndex = (this.#oldestIndex + 1) % this.#limit;
    this.dropped++;
  }

  /** The present waits and holds. */
  #open(): Slice[] {
    const now = performance.now();
    return Array.from(hub.registry.present(), (acquisition) => {
      const what = acquisition.state === "holds" ? "hold" : "wait";
      return this.#slice(acquisition, what, acquisition.since, now, "open");
    });
  }

  #slice(acquisition: Acquisition, what: Slice["what"], from: number, to: number, end: string): Slice {
    const { id, permits, thing: { kind, label } } = acquisition;
    const site = acquisition.site?.toString();
    const causedBy = what === "hold" ? this.#causes.get(acquisition) : undefined;
    return { id, what, track: label, kind, from, to, end, permits, site, causedBy };
  }
}
