/**
 * A histogram of durations, in classes that grow by about three.
 *
 * @module
 */

/** Upper ends of the classes, in ms; the last class has none. */
const ENDS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

export class Histogram {
  readonly counts: number[] = new Array(ENDS.length + 1).fill(0);
  /** The number of durations. */
  total = 0;

  add(ms: number): void {
    const index = ENDS.findIndex((end) => ms < end);
    this.counts[index < 0 ? ENDS.length : index]!++;
    this.total++;
  }

  /** An upper bound for the given share of all durations, as in `< 30 ms`. */
  upperBound(share: number): string {
    if (this.total === 0) return "–";
    let sum = 0;
    const index = this.counts.findIndex((count) => (sum += count) >= share * this.total);
    return index < ENDS.length ? `< ${inWords(ENDS[index]!)}` : `> ${inWords(ENDS.at(-1)!)}`;
  }
}

/** In the units of the drawing: its width, the width of a bar, and the height of the tallest bar. */
const WIDTH = 300, BAR = 24, HEIGHT = 76;

/** Draws the classes as bars, in an SVG that scales with its container. */
export function drawHistogram(title: string, { counts, total }: Histogram): string {
  if (total === 0) return `<p class="none">None has ended yet.</p>`;
  const bars = counts.map((count, i) => {
    const height = count === 0 ? 0 : Math.max(2, Math.round(count / Math.max(...counts) * HEIGHT));
    const [x, y] = [8 + i * (BAR + 2), 4 + HEIGHT - height];
    const number = count === 0 ? "" : count.toLocaleString("en", { notation: "compact" });
    const texts = `<title>${count}: ${classOf(i)}</title></rect><text x="${x + BAR / 2}" y="${y - 3}">${number}</text>`;
    return `<rect x="${x}" y="${y}" width="${BAR}" height="${height}" rx="2">${texts}`;
  });
  // Each end stands between its two bars; the numbers without a unit are ms.
  const labels = ENDS.map((end, i) =>
    `<text x="${7 + (i + 1) * (BAR + 2)}" y="${HEIGHT + 20}">${end > 1 && end < 1000 ? end : inWords(end)}</text>`
  );
  const words = counts.flatMap((count, i) => count > 0 ? [`${count} ${classOf(i)}`] : []).join(", ");
  return `<svg class="histogram" viewBox="0 -10 ${WIDTH} ${HEIGHT + 36}" role="img" aria-label="${title}: ${words}">` +
    `<path d="M8 ${HEIGHT + 4.5}H${WIDTH - 6}"/>${bars.join("")}${labels.join("")}</svg>`;
}

function classOf(index: number): string {
  const from = index === 0 ? "" : `from ${inWords(ENDS[index - 1]!)} `;
  return index < ENDS.length ? `${from}to ${inWords(ENDS[index]!)}` : `above ${inWords(ENDS.at(-1)!)}`;
}

/** Formats a duration, as in `30 ms` and `3 s`. */
function inWords(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}
