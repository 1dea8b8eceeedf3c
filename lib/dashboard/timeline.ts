/**
 * Draws waits and holds over time as SVG, for the dashboard, the playground and the README.
 *
 * @module
 */
import { attribute, escape } from "./escape.ts";

/** The states of a row. */
export type State = "waits" | "holds" | "shares";

/** One stretch of a row; without an end if it still lasts. */
export interface Span {
  readonly state: State;
  readonly from: number;
  to?: number;
}

/** A moment of a row, drawn as a sign. */
export interface Mark {
  readonly sign: "✓" | "✕" | "●";
  readonly at: number;
  readonly text: string;
}

/** One row. */
export interface Row {
  readonly label: string;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

/** Heights in pixels: a row and its bar, the space above all rows, the caption, the axis and the legend. */
const ROW = 30, TOP = 14, BAR = 18, CAPTION = 24, AXIS = 24, LEGEND = 26;

/**
 * Each selector and property with its colour on a bright and on a dark page. Not CSS variables, which some SVG viewers
 * lack.
 */
const COLOURS = [
  [".tl text{fill", "#3c3c43", "#dfdfd6"],
  [".tl .soft{fill", "#67676c", "#98989f"],
  [".tl .grid{stroke", "#e2e2e3", "#3c3f44"],
  [".tl .waits,.tl .hatch{stroke", "#e9a23b", "#f0b45a"],
  [".tl .holds,.tl .dot{fill", "#2563c9", "#6fa2ff"],
  [".tl .shares{fill", "#0f8a75", "#3cc7ad"],
  [".tl text.bad{fill", "#c8322b", "#ff7a70"],
] as const;

const BRIGHT = COLOURS.map(([what, colour]) => `${what}:${colour}}`).join("");
const DARK = COLOURS.map(([what, , colour]) => `${what}:${colour}}`).join("");

/** For bright and dark pages. Hatching and signs carry the same meaning without colours. */
const STYLE = '.tl{font:13px system-ui,-apple-system,"Segoe UI",sans-serif}.tl .soft{font-size:12px}' +
  ".tl .waits{fill:url(#hatch)}.tl .hatch{stroke-width:2.5}.tl text.bad{font-weight:700}" +
  `${BRIGHT}@media(prefers-color-scheme:dark){${DARK}}`;

const HATCH = '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>';

/** The contents of a drawing. */
export interface Drawing {
  readonly title: string;
  readonly lanes: readonly Row[];
  /** The left edge, in ms. Default: 0. With any other value, the axis counts back from `now`. */
  readonly from?: number;
  /** The present time, in ms. */
  readonly now: number;
  /** Pixels. */
  readonly width: number;
  /** Minimum number of milliseconds from left to right. */
  readonly span?: number;
  /** One line of text above the rows, and what a screen reader reads. Without it, screen readers get a summary. */
  readonly caption?: string;
  /** What a dot stands for, in the legend. */
  readonly dots?: string | undefined;
}

/** Draws a complete SVG. */
export function draw({ title, lanes, from = 0, now, width, span = 1000, caption, dots = "a call" }: Drawing): string {
  // The left edge of the bars, behind the longest label.
  const left = 16 + 7.4 * Math.max(4, ...lanes.map((lane) => lane.label.length));
  const duration = Math.max(now - from, span);
  const texts = [{ at: from + duration, text: "" }, ...lanes.flatMap(({ marks }) => marks)];
  // Pixels per ms, so that each text fits behind its moment.
  const scale = Math.min(...texts.map(({ at, text }) => (width - left - roomFor(text)) / Math.max(0, at - from)));
  const x = (at: number) => round(left + Math.max(0, at - from) * scale);
  const bottom = TOP + lanes.length * ROW;
  const rows = lanes.map((lane, i) => drawLane(lane, TOP + i * ROW, x, now)).join("");
  const label = attribute(caption ?? summary(title, lanes));
  const [top, head] = caption === undefined ? [0, ""] : [CAPTION, `<text x="8" y="-6">${escape(caption)}</text>`];
  const height = top + bottom + AXIS + LEGEND;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="tl" role="img" aria-label="${label}" ` +
    `viewBox="0 ${-top} ${width} ${height}" width="${width}" height="${height}"><style>${STYLE}</style>${HATCH}${head}` +
    drawAxis(from, from + duration, now, bottom, x) + rows + drawLegend(lanes, height - top - 8, dots) + "</svg>";
}

/** The room needed for a text behind a bar. */
function roomFor(text: string): number {
  return Math.max(40, 28 + 8 * text.length);
}

function drawLane(lane: Row, y: number, x: (at: number) => number, now: number): string {
  // A call that did not have to wait has a wait of less than 5 ms, which gets no bar.
  const bars = lane.spans.filter(({ from, to = now }) => to - from >= 5).map(({ state, from, to = now }) =>
    `<rect class="${state}" x="${x(from)}" y="${y}" width="${round(Math.max(1, x(to) - x(from)))}" ` +
    `height="${BAR}" rx="3"/>`
  );
  const signs = lane.marks.map((mark) => drawMark(mark, y, x(mark.at)));
  return `<text x="8" y="${y + 14}">${escape(lane.label)}</text>${bars.join("")}${signs.join("")}`;
}

/** Draws a dot at its exact moment, where its effects begin. The sign at the end of a row comes behind the last bar. */
function drawMark({ sign, text }: Mark, y: number, x: number): string {
  const [textX, shown] = sign === "●" ? [x + 9, text] : [x + 4, `${sign} ${text}`.trim()];
  const dot = sign === "●" ? `<circle class="dot" cx="${x}" cy="${y + 9}" r="5"/>` : "";
  const words = `<text${sign === "✕" ? ' class="bad"' : ""} x="${round(textX)}" y="${y + 14}">${escape(shown)}</text>`;
  return shown === "" ? dot : dot + words;
}

/** In ms. Exceeds the error of a sum of times. */
const ROUNDING = 1e-3;

/** Draws a line at every second, half second or so, as far as there is room for the numbers. */
function drawAxis(from: number, to: number, now: number, bottom: number, x: (at: number) => number): string {
  const steps = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000];
  const step = steps.find((one) => x(from + one) - x(from) >= 50) ?? 60_000;
  // A moving window counts back from now.
  const zero = from === 0 ? 0 : now;
  let axis = "";
  for (let count = -Math.floor((zero - from) / step); zero + count * step <= to + ROUNDING; count++) {
    const at = zero + count * step;
    const time = step < 100 ? `${count * step} ms` : `${count * step / 1000} s`;
    const label = from !== 0 && count === 0 ? "now" : time.replace("-", "−");
    axis += `<path class="grid" d="M${x(at)} 4V${bottom}"/>` +
      `<text class="soft" text-anchor="middle" x="${x(at)}" y="${bottom + 14}">${label}</text>`;
  }
  return axis;
}

const LEGEND_TEXTS: Record<State, string> = { waits: "waits", holds: "holds", shares: "runs beside others" };

function drawLegend(lanes: readonly Row[], y: number, dots: string): string {
  let x = 8;
  let legend = "";
  const add = (sign: string, text: string) => {
    legend += `${sign}<text class="soft" x="${x + 19}" y="${y}">${text}</text>`;
    x += 34 + Math.round(text.length * 6.5);
  };
  for (const [state, text] of Object.entries(LEGEND_TEXTS)) {
    if (!lanes.some((lane) => lane.spans.some((one) => one.state === state && one.to !== one.from))) continue;
    add(`<rect class="${state}" x="${x}" y="${y - 10}" width="14" height="11" rx="2"/>`, text);
  }
  const hasMark = (sign: Mark["sign"]) => lanes.some((lane) => lane.marks.some((mark) => mark.sign === sign));
  if (hasMark("●")) add(`<circle class="dot" cx="${x + 7}" cy="${y - 4}" r="5"/>`, dots);
  if (hasMark("✕")) add(`<text class="soft" x="${x + 2}" y="${y}">✕</text>`, "ends early");
  return legend;
}

/** Describes a drawing for screen readers: the rows whose last span still lasts, and the rows that ended early. */
export function summary(title: string, lanes: readonly Row[]): string {
  const names = (some: readonly Row[]) => some.map(({ label }) => label).join(", ");
  // The labels of the rows that are in this state now.
  const those = (state: State) =>
    names(lanes.filter(({ spans }) => spans.at(-1)?.to === undefined && spans.at(-1)?.state === state));
  const ended = names(lanes.filter(({ marks }) => marks.some(({ sign }) => sign === "✕")));
  const parts = [["Inside", those("holds") || those("shares")], ["Waiting", those("waits")], ["Ended early", ended]];
  const facts = parts.filter(([, names]) => names !== "").map(([what, names]) => `${what}: ${names}`);
  return `${title}. ${facts.join(". ") || (lanes.length > 0 ? "All have finished" : "Nothing yet")}.`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
