/**
 * The changing parts of the page as HTML: deadlocks, the table of resources, and one resource in detail.
 *
 * @module
 */
import type { Finding, ObservedCall } from "../diagnostics/mod.ts";
import { RowPacker } from "../internal/rows.ts";
import { drawHistogram } from "./histogram.ts";
import { attribute, escape } from "./escape.ts";
import { draw, type Row } from "./timeline.ts";
import type { PastCall, Track, Tracks } from "./tracks.ts";

/** Maximum number of rows of the table, and of calls shown for a resource. */
const MOST_ROWS = 15, MOST_CALLS = 8;
/** The timeline's time from left to right, in ms: from the first event on, within these bounds. */
const SPAN = 30_000, MINIMUM_SPAN = 5_000;

/** The HTML of each part, by its element id in the page. */
export type Parts = Readonly<Record<"alerts" | "numbers" | "things" | "detail", string>>;

/** The state at one moment. All pages show the same state, except for the resource in detail. */
export class Frame {
  readonly #tracks: Tracks;
  readonly #now = performance.now();
  /** The parts that all pages share. */
  readonly #shared: Omit<Parts, "detail">;
  /** The resource at the top of the table. */
  readonly #topTrack: Track | undefined;
  /** The HTML of the details so far, by width and label. */
  readonly #details = new Map<string, string>();

  constructor(tracks: Tracks, stuck: readonly Finding[]) {
    this.#tracks = tracks;
    // By the longest wait. Short waits do not change the order, so that the table stays stable.
    const sortKey = ({ longest }: TableRow) => longest < 1000 ? 0 : longest;
    const all = [...tracks.byLabel.values()].map((track) => ({ track, longest: longestWait(track.waits, this.#now) }))
      .sort((a, b) => sortKey(b) - sortKey(a) || b.track.totalWaited - a.track.totalWaited);
    this.#topTrack = all[0]?.track;
    const count = (of: "waits" | "holds") => all.reduce((sum, { track }) => sum + track[of].size, 0);
    const numbers = [
      plural(all.length, "primitive"),
      plural(count("holds"), "holder"),
      plural(count("waits"), "waiter"),
      `${tracks.perSecond.toLocaleString("en")} events/s`,
    ];
    this.#shared = {
      alerts: stuck.map(({ kind, message }) => alertHtml(kind, message)).join(""),
      numbers: numbers.map((one) => `<span>${one}</span>`).join(""),
      things: tableHtml(all),
    };
  }

  /**
   * @param chosenLabel The label of the resource in detail; if unknown, the first of the table is shown.
   * @param width Pixels for the timeline.
   */
  parts(chosenLabel: string, width: number): Parts {
    const track = this.#tracks.byLabel.get(chosenLabel) ?? this.#topTrack;
    const key = `${width} ${track?.label}`;
    const shown = this.#details.get(key) ?? (track === undefined ? "" : detailHtml(track, this.#now, width));
    this.#details.set(key, shown);
    return { ...this.#shared, detail: shown };
  }
}

interface TableRow {
  readonly track: Track;
  /** The longest present wait, in ms. */
  readonly longest: number;
}

/** The columns behind the label: the head, the HTML of a cell, and whether there is room for it on a phone. */
const COLUMNS: readonly (readonly [head: string, cell: (row: TableRow) => string, isWide?: boolean])[] = [
  ["Holders", ({ track }) => `${track.holds.size || ""}`],
  ["Waiters", ({ track }) => `${track.waits.size || ""}`],
  ["Oldest waiter", ({ longest }) => longest === 0 ? "" : `<span class="${level(longest)}">${inWords(longest)}</span>`],
  ["p95 wait", ({ track }) => escape(track.waiting.upperBound(0.95)), true],
  ["p95 hold", ({ track }) => escape(track.holding.upperBound(0.95)), true],
  ["Grants", ({ track }) => grantsHtml(track), true],
];

/** The head of the table. */
export const HEAD: string = `<tr><th scope="col">Primitive</th>${
  COLUMNS.map(([head, , isWide]) => `<th scope="col"${isWide ? ' class="wide"' : ""}>${head}</th>`).join("")
}</tr>`;

function tableHtml(all: readonly TableRow[]): string {
  if (all.length === 0) return wholeRow("Nothing has been acquired yet.");
  const hidden = all.length - MOST_ROWS;
  const more = wholeRow(`and ${plural(hidden, "primitive")} that waited less`);
  return all.slice(0, MOST_ROWS).map(rowHtml).join("") + (hidden > 0 ? more : "");
}

function wholeRow(text: string): string {
  return `<tr><td colspan="${COLUMNS.length + 1}" class="none">${text}</td></tr>`;
}

function alertHtml(kind: Finding["kind"], message: string): string {
  const [title, ...lines] = message.replace(/^Interlock: (self-wait|cycle): /, "").split("\n");
  const list = lines.length === 0 ? "" : `<ol>${lines.map((line) => `<li>${escape(line.trim())}</li>`).join("")}</ol>`;
  const heading = kind === "self" ? "Deadlock with itself" : "Deadlock";
  return `<section class="alert"><h2>${heading}</h2><p>${escape(title!)}</p>${list}</section>`;
}

/** The page marks the row of the resource in detail. */
function rowHtml(one: TableRow): string {
  const safe = attribute(one.track.label);
  const name = `<th scope="row"><button type="button" id="b-${safe}" data-thing="${safe}" aria-pressed="false">` +
    `${escape(one.track.label)}</button></th>`;
  const cells = COLUMNS.map(([, cell, isWide]) => `<td class="${isWide ? "wide" : ""}">${cell(one)}</td>`);
  return `<tr>${name}${cells.join("")}</tr>`;
}

/** The CSS class of a cell with the longest wait, in ms. */
function level(longest: number): string {
  return longest >= 10_000 ? "bad" : longest >= 1_000 ? "slow" : "";
}

function grantsHtml({ waiting, giveUps, losses }: Track): string {
  const failures = (giveUps === 0 ? "" : ` · ${giveUps} failed`) + (losses === 0 ? "" : ` · ${losses} lost`);
  return `${waiting.total - giveUps}${failures && `<small>${failures}</small>`}`;
}

function detailHtml(track: Track, now: number, width: number): string {
  const isSampled = track.lastSkippedAt > now - SPAN;
  const sampled = isSampled ? " Sampled: not every wait and hold below 0.1 s is drawn; the numbers count all." : "";
  const lists = callsHtml("Holders", "held", track.holds, now) + callsHtml("Waiters", "waited", track.waits, now);
  return `<h2>${escape(track.label)}</h2>` + timelineHtml(track, now, width) +
    `<p class="note">At most the last ${SPAN / 1000} seconds.${sampled}</p><div class="calls">${lists}</div>` +
    `<div class="calls"><section><h3>Calls by waiting time</h3>${drawHistogram("Waiting", track.waiting)}</section>` +
    `<section><h3>Calls by holding time</h3>${drawHistogram("Holding", track.holding)}</section></div>`;
}

function callsHtml(title: string, verb: string, all: ReadonlySet<ObservedCall>, now: number): string {
  const shown = [...all].slice(0, MOST_CALLS).map((call) => {
    const { site } = call;
    const permits = call.permits === 1 ? "" : `, ${call.permits} permits`;
    const place = site === undefined ? "" : ` <code title="${attribute(`${site.file}:${site.line}:${site.column}`)}">` +
      `${escape(`${site}`)}</code>`;
    return `<li><span>call ${call.id}${place}</span> <span>${verb} ${inWords(now - call.since)}${permits}</span></li>`;
  });
  const more = all.size - MOST_CALLS;
  if (more > 0) shown.push(`<li class="none">and ${more} more</li>`);
  const list = shown.length === 0 ? '<p class="none">none</p>' : `<ul>${shown.join("")}</ul>`;
  return `<section><h3>${title}</h3>${list}</section>`;
}

/** Draws holders above waiters, in as few rows as possible. */
function timelineHtml(track: Track, now: number, width: number): string {
  const from = Math.max(now - SPAN, Math.min(now - MINIMUM_SPAN, track.since));
  const open = (state: "waits" | "holds") =>
    [...track[state]].slice(0, MOST_CALLS).map(({ since }) => ({ state, from: since, to: Infinity, hasFailed: false }));
  const spans = [...track.past.filter(({ to }) => to > from), ...open("holds"), ...open("waits")];
  const lanes = [...rowsOf("holds", "holder", spans), ...rowsOf("waits", "waiter", spans)];
  return `<div class="timeline">${draw({ title: track.label, lanes, from, now, width })}</div>`;
}

function rowsOf(state: PastCall["state"], word: string, all: readonly PastCall[]): Row[] {
  const lanes: { label: string; spans: Row["spans"][number][]; marks: Row["marks"][number][] }[] = [];
  const packer = new RowPacker();
  for (const { from, to, hasFailed } of all.filter((one) => one.state === state).sort((a, b) => a.from - b.from)) {
    const index = packer.place(from, to);
    if (index >= MOST_CALLS) continue;
    const lane = lanes[index] ??= { label: index === 0 ? word : `${word} ${index + 1}`, spans: [], marks: [] };
    lane.spans.push({ state, from, ...(to === Infinity ? {} : { to }) });
    if (hasFailed) lane.marks.push({ sign: "✕", at: to, text: "" });
  }
  return lanes;
}

function longestWait(waits: ReadonlySet<ObservedCall>, now: number): number {
  const [oldest] = waits;
  return oldest === undefined ? 0 : now - oldest.since;
}

/** Formats a duration, as in `300 ms`, `1.2 s`, `12 s` and `4 min`. */
function inWords(ms: number): string {
  if (ms < 10_000) return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

function plural(n: number, word: string): string {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}
