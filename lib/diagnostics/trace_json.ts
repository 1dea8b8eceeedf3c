/**
 * Chrome's trace-event format (JSON object form): complete events "X" for slices, "s" and "f" for arrows, "M" for the
 * names of tracks; all times in microseconds.
 *
 * Slices of one thread must not overlap, but waits do. So each resource is a process in the trace, with as many threads
 * as it had holders and waiters at the same time.
 *
 * @module
 */
import { RowPacker } from "../internal/rows.ts";

/** One wait or one hold. */
export interface Slice {
  readonly id: number;
  readonly what: "wait" | "hold";
  /** The resource's label. */
  readonly track: string;
  readonly kind: string;
  /** In ms, on the clock of `performance.now()`. */
  readonly from: number;
  readonly to: number;
  /**
   * How it ended: "granted", "released", "lost", "timeout", "aborted", "full" or "error"; "open" if it has not ended.
   */
  readonly end: string;
  readonly permits: number;
  readonly site: string | undefined;
  /** The id of the hold whose release caused this one, after a wait. */
  readonly causedBy: number | undefined;
}

/** One event of the trace-event format. */
export interface TraceEvent {
  /** "X" is a slice, "s" and "f" are the ends of an arrow, "M" is a name. */
  readonly ph: "X" | "s" | "f" | "M";
  /** "wait", "hold" or "hand-off"; for names, their kind. */
  readonly name: string;
  /** The kind of the resource. */
  readonly cat: string;
  /** In µs. */
  readonly ts: number;
  /** In µs; slices only. */
  readonly dur?: number;
  /** The thing. */
  readonly pid: number;
  /** The row. */
  readonly tid: number;
  /** The id of an arrow. */
  readonly id?: number;
  /** Binds an arrow's end to the slice around it. */
  readonly bp?: "e";
  /** Further facts, such as how it ended. */
  readonly args?: Readonly<Record<string, unknown>>;
}

/** The result of {@linkcode Trace.toJSON}. */
export interface TraceJson {
  /** Names, slices and arrows. */
  readonly traceEvents: readonly TraceEvent[];
  /** The unit in which times are shown. */
  readonly displayTimeUnit: "ms";
  /** `dropped`: the number of slices that the limit dropped. */
  readonly otherData: { readonly dropped: number };
}

export function drawTrace(slices: readonly Slice[], dropped: number): TraceJson {
  const tracks = new Map<string, Track>();
  const placed = [...slices].sort((a, b) => a.from - b.from).map((slice) => {
    const { track: label, what, from, to } = slice;
    const track = tracks.get(label) ?? { label, pid: tracks.size + 1, hold: new RowPacker(), wait: new RowPacker() };
    tracks.set(label, track);
    return { ...slice, pid: track.pid, tid: tidOf(what, track[what].place(from, to)) };
  });
  const traceEvents = [...[...tracks.values()].flatMap(drawNames), ...placed.map(drawSlice), ...drawArrows(placed)];
  return { traceEvents, displayTimeUnit: "ms", otherData: { dropped } };
}

/** One resource: a process of the trace. */
interface Track {
  readonly label: string;
  readonly pid: number;
  readonly hold: RowPacker;
  readonly wait: RowPacker;
}

interface PlacedSlice extends Slice {
  readonly pid: number;
  readonly tid: number;
}

function drawNames({ label, pid, ...rows }: Track): TraceEvent[] {
  /** @param of What is named: "process_name" or "thread_name". */
  const draw = (of: string, tid: number, name: string): TraceEvent => {
    return { ph: "M", name: of, cat: "__metadata", ts: 0, pid, tid, args: { name } };
  };
  const threads = (["hold", "wait"] as const).flatMap((what) =>
    Array.from({ length: rows[what].size }, (_, row) => draw("thread_name", tidOf(what, row), `${label}: ${what}s`))
  );
  return [draw("process_name", 0, label), ...threads];
}

/** Holds have odd numbers and waits even ones, so that the first holder comes first. */
function tidOf(what: Slice["what"], row: number): number {
  return row * 2 + (what === "hold" ? 1 : 2);
}

function drawSlice({ what, from, to, kind, id, end, permits, site, pid, tid }: PlacedSlice): TraceEvent {
  const args = { id, end, permits, ...(site === undefined ? {} : { site }) };
  return { ph: "X", name: what, cat: kind, ts: micros(from), dur: micros(to) - micros(from), pid, tid, args };
}

/** Draws an arrow from each release to the grants that it caused, if both are kept. */
function drawArrows(placed: readonly PlacedSlice[]): TraceEvent[] {
  const holds = new Map(placed.filter(({ what }) => what === "hold").map((one) => [one.id, one]));
  return [...holds.values()].flatMap((grantedHold) => {
    const releasedHold = holds.get(grantedHold.causedBy ?? -1);
    if (releasedHold === undefined) return [];
    const arrow = { name: "hand-off", cat: "hand-off", id: grantedHold.id };
    // An arrow belongs to the slice around its time, and the end of a slice is outside it.
    const leavesAt = Math.max(micros(releasedHold.from), micros(releasedHold.to) - 1);
    return [
      { ...arrow, ph: "s", ts: leavesAt, pid: releasedHold.pid, tid: releasedHold.tid },
      { ...arrow, ph: "f", bp: "e", ts: micros(grantedHold.from), pid: grantedHold.pid, tid: grantedHold.tid },
    ];
  });
}

function micros(ms: number): number {
  return Math.round(ms * 1000);
}
