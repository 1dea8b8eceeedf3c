/** The charts, by Vega-Lite: the three of the benchmarks' pages, and the look of all. */
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { type Column, costs } from "./_costs.ts";
import type { Results } from "./_results.ts";
import type { Row } from "./_runner.ts";

export type Chart = "contention" | "hand-over" | "attach";

/** Milliseconds at which the bars begin. */
const LEAST = 0.03;

/** Readable on white and on GitHub's dark. */
export const THEMES = {
  light: { text: "#24292f", grid: "#d0d7de", ours: "#0969da", others: ["#bf8700", "#8250df", "#57606a", "#cf222e"] },
  dark: { text: "#e6edf3", grid: "#30363d", ours: "#58a6ff", others: ["#e3b341", "#bc8cff", "#8b949e", "#ff7b72"] },
} as const;
export type Theme = keyof typeof THEMES;

/** As SVG. The background is the page's. */
export async function chart(kind: Chart, results: Results, theme: Theme): Promise<string> {
  const [runTime, { version, rows }] = Object.entries(results.runs)[0]!;
  const where = `${runTime} ${version.replace(/ .*/, "")}`;
  if (kind === "attach") return await svg(attach(costs(results), theme));
  return await svg(kind === "contention" ? contention(rows, where, theme) : handOver(rows, where, theme));
}

export async function svg(spec: TopLevelSpec): Promise<string> {
  return await new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}

function contention(rows: readonly Row[], where: string, theme: Theme): TopLevelSpec {
  const values = rows.filter(({ situation, kind }) => /^lock, [\d,]+ tasks$/.test(situation) && kind !== "floor")
    .map(({ situation, contender, median }) => ({
      tasks: Number(situation.replace(/\D/g, "")),
      contender: contender.replace(/ \(.*/, ""),
      median,
    }));
  return {
    ...frame(theme, `One lock, many tasks: time of a turn on ${where} (less is better)`),
    data: { values },
    mark: { type: "line", point: { size: 45 }, strokeWidth: 2.5 },
    encoding: {
      x: {
        field: "tasks",
        type: "quantitative",
        scale: { type: "log" },
        axis: { title: "tasks (logarithmic scale)", values: [2, 10, 100, 1000, 10_000], format: "," },
      },
      y: {
        field: "median",
        type: "quantitative",
        scale: { type: "log", domainMin: 50 },
        axis: { title: "ns a turn (logarithmic scale)", format: ",", values: [100, 1000, 10_000] },
      },
      color: colors(values, theme),
    },
  };
}

function handOver(rows: readonly Row[], where: string, theme: Theme): TopLevelSpec {
  const values = rows.filter(({ situation }) => situation.startsWith("Redis, hand-over"))
    .map(({ situation, contender, median }) => ({
      situation: situation.replace(/Redis, hand-over (with|between) /, "").replace(
        " with 25 waiters each",
        " × 25 waiters",
      ),
      contender,
      median,
    }));
  return {
    ...frame(theme, `A Redis lock passes on: median time on ${where} (less is better)`),
    data: { values },
    mark: { type: "bar", height: 14 },
    encoding: {
      y: { field: "situation", type: "nominal", sort: null, axis: { title: "queue", labelLimit: 260 } },
      yOffset: { field: "contender", sort: null },
      x: {
        field: "median",
        type: "quantitative",
        stack: null,
        scale: { type: "log", domainMin: LEAST },
        axis: { title: "ms (logarithmic scale)", format: "~g", values: [0.1, 1, 10] },
      },
      x2: { datum: LEAST }, // there is no zero on this scale
      color: colors(values, theme),
    },
  };
}

function attach(columns: readonly Column[], theme: Theme): TopLevelSpec {
  const { text, ours, others } = THEMES[theme];
  const values = columns.flatMap(({ title, rows }) =>
    rows.map(({ contender, median }) => ({ server: title, contender, median }))
  );
  return {
    ...frame(theme, "A server with a graceful shutdown: CPU time of a request, next to a bare server"),
    data: { values },
    encoding: {
      y: { field: "contender", type: "nominal", sort: null, axis: { title: null, labelLimit: 260, grid: true } },
      x: {
        field: "median",
        type: "quantitative",
        scale: { zero: false, nice: true },
        axis: { title: "× the bare server (less is better)", format: ".2f", tickCount: 6 },
      },
    },
    layer: [
      {
        mark: { type: "rule", color: text, strokeDash: [4, 3] },
        encoding: { x: { datum: 1 }, y: { value: 0 }, y2: { value: 240 } },
      },
      {
        mark: { type: "point", filled: true, size: 90, opacity: 0.9 },
        encoding: {
          color: {
            field: "server",
            type: "nominal",
            title: null,
            sort: null,
            legend: { labelLimit: 260 },
            scale: { domain: columns.map(({ title }) => title), range: [ours, ...others] },
          },
        },
      },
    ],
  };
}

export function frame(theme: Theme, title: string) {
  const { text, grid } = THEMES[theme];
  const axis = {
    labelColor: text,
    titleColor: text,
    gridColor: grid,
    domainColor: grid,
    tickColor: grid,
    labelFontSize: 12,
    titleFontSize: 12,
  };
  return {
    width: 480,
    height: 240,
    title: { text: title, color: text, fontSize: 14, anchor: "start" as const },
    config: {
      background: "transparent",
      view: { stroke: null },
      axis,
      legend: { labelColor: text, titleColor: text, labelFontSize: 12 },
    },
  };
}

export function colors(values: readonly { contender: string }[], theme: Theme) {
  const { ours, others } = THEMES[theme];
  const domain = [...new Set(values.map(({ contender }) => contender))];
  return {
    field: "contender",
    type: "nominal" as const,
    title: null,
    sort: null,
    scale: { domain, range: [ours, ...others] },
  };
}
