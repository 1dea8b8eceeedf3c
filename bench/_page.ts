/** docs/benchmarks.md and its two charts, from the results. */
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { size } from "../scripts/size.ts";
import { FLOOR, HAND_OVER, OURS, SHARED } from "./_situation.ts";
import { RUN_TIMES, type RunTime } from "./_processes.ts";

/** A contender of a row on a run-time. */
export interface Measured {
  readonly row: string;
  readonly contender: string;
  readonly runTime: RunTime;
  /** Of one operation. */
  readonly ns: number;
}

export interface Results {
  readonly date: string;
  readonly machine: string;
  readonly processes: number;
  readonly runTimes: Readonly<Record<string, string>>;
  /** Versions of the other packages. */
  readonly packages: Readonly<Record<string, string>>;
  readonly figures: readonly Measured[];
}

const TITLES: Readonly<Record<RunTime, string>> = { deno: "Deno", node: "Node", bun: "Bun" };

const SIZES: Readonly<Record<string, string>> = {
  "`Lock`": "{ Lock }",
  "`Semaphore`": "{ Semaphore }",
  "`KeyedMutex`": "{ KeyedMutex }",
  "`Pool`": "{ Pool }",
  "`RateLimiter`": "{ RateLimiter }",
  "`GracefulShutdown`": "{ GracefulShutdown }",
  "the whole main entry": "*",
};

/** The page with the parts between comments such as `<!-- size -->` and `<!-- /size -->` written anew. */
export function page(text: string, results: Results): string {
  const sizes = Object.entries(SIZES).map(([name, imports]) => [name, (size(imports) / 1000).toFixed(1)]);
  const head = ["**operation**, package", ...RUN_TIMES.map((name) => TITLES[name])];
  const parts: Readonly<Record<string, string>> = {
    local: table(head, rowsOf(results).filter((row) => !isRemote(row)).flatMap((row) => linesOf(results, row, 1))),
    redis: table(head, rowsOf(results).filter(isRemote).flatMap((row) => linesOf(results, row, 1e3))),
    size: `${sizes.map(([name, kB]) => `${name} ${kB}`).join(", ")}.\n`,
    conditions: conditions(results),
  };
  return text.replace(/<!-- (\w+) -->\n[^]*?<!-- \/\1 -->/g, (_, name: string) => {
    return `<!-- ${name} -->\n\n${parts[name]}\n<!-- /${name} -->`;
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => i === 0 ? "---" : "--:")), ...rows.map(line)].join("\n") + "\n";
}

const rowsOf = ({ figures }: Results) => [...new Set(figures.map(({ row }) => row))];

const isRemote = (row: string) => row.includes("Redis");

/** The figures of one row by contender, then by run-time; floors left out. */
function byContender({ figures }: Results, row: string): Map<string, Map<RunTime, number>> {
  const all = new Map<string, Map<RunTime, number>>();
  for (const one of figures) {
    if (one.row !== row || one.contender === FLOOR) continue;
    const of = all.get(one.contender) ?? new Map<RunTime, number>();
    all.set(one.contender, of.set(one.runTime, one.ns));
  }
  return all;
}

/**
 * Ours, the best other package, the packages that take less than 90 % of our time on some run-time, and the worst; the
 * others by their times over all run-times. `unit` in nanoseconds.
 */
function linesOf(results: Results, row: string, unit: number): string[][] {
  const all = byContender(results, row);
  if (!all.has(OURS)) return [];
  const time = (name: string, at: RunTime) => all.get(name)!.get(at) ?? NaN;
  const product = (name: string) => RUN_TIMES.reduce((product, at) => product * (all.get(name)!.get(at) ?? 1), 1);
  const others = [...all.keys()].filter((name) => name !== OURS).sort((a, b) => product(a) - product(b));
  const isQuicker = (name: string) => RUN_TIMES.some((at) => time(name, at) < 0.9 * time(OURS, at));
  const shown = others.filter((name, i) => i === 0 || i === others.length - 1 || isQuicker(name));
  const cells = (name: string) => RUN_TIMES.map((at) => shownAs(time(name, at) / unit));
  return [
    [row, ...cells(OURS)].map((text) => `**${text}**`),
    ...shown.map((name) => [name, ...cells(name)]),
  ];
}

function shownAs(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}

function conditions({ date, machine, processes, runTimes, packages }: Results): string {
  const named = (versions: Readonly<Record<string, string>>) =>
    Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
  return [
    `- ${date}; ${machine}; ${named(runTimes)}.`,
    `- ${named(packages)}.`,
    `- Each figure is ${
      processes === 1 ? "from one process" : `the median of ${processes} processes`
    }; a process measures one ` +
    "package, and packages take turns.",
  ].join("\n") + "\n";
}

/** Readable on white; on black with the lighter text of {@linkcode DARK}. The charts are narrow enough for a phone. */
const [TEXT, GRID, BLUE, GREY] = ["#57606a", "#8c959f66", "#2f81f7", "#8c959f"];
const DARK = "<style>@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } }</style>";

/** File names and SVGs. */
export async function charts(results: Results): Promise<[name: string, svg: string][]> {
  const scale = "logarithmic, less is better; ×: the multiple of interlock's time";
  const nanoseconds = `ns of CPU time to acquire and release; ${scale}`, microseconds = `µs per lease; ${scale}`;
  return [
    [
      "contention.svg",
      await svg("100 tasks share one lock", nanoseconds, results, SHARED, 1, [50, 100, 200, 500, 1000, 3000]),
    ],
    [
      "hand-over.svg",
      await svg("10 tasks share a Redis lock", microseconds, results, HAND_OVER, 1e3, [100, 1000, 10_000, 100_000]),
    ],
  ];
}

async function svg(title: string, subtitle: string, results: Results, row: string, ...how: How): Promise<string> {
  const { spec } = compile(chart(title, subtitle, results, row, ...how));
  const drawn = await new View(parse(spec), { renderer: "none" }).toSVG();
  return drawn.replace(/^<svg([^>]*>)/, `<svg role="img" aria-label="${title}: ${subtitle}"$1${DARK}`);
}

/** The unit in nanoseconds, and the logarithmic axis: a labelled line at each number but the last, its end. */
type How = [unit: number, axis: readonly [from: number, ...ticks: number[], to: number]];

function chart(
  title: string,
  subtitle: string,
  { figures, packages, runTimes }: Results,
  row: string,
  ...[unit, axis]: How
): TopLevelSpec {
  const shown = figures.filter((one) => one.row === row && one.contender !== FLOOR).sort((a, b) => a.ns - b.ns);
  const titleOf = (runTime: RunTime) => `${TITLES[runTime]} ${runTimes[runTime]}`;
  const ratio = ({ contender, runTime, ns }: Measured) => {
    const times = ns / shown.find((one) => one.contender === OURS && one.runTime === runTime)!.ns;
    return contender === OURS ? "" : `×${shownAs(times)}`;
  };
  const values = shown.map((one) => ({
    contender: `${one.contender} ${packages[one.contender]?.replace(/^v/, "") ?? ""}`.trim(),
    runTime: titleOf(one.runTime),
    value: one.ns / unit,
    ratio: ratio(one),
  }));
  const color = { condition: { test: `datum.contender === "${OURS}"`, value: BLUE }, value: GREY };
  // A column beside the dots.
  const column = (x: number, text: { field: string; format?: string }) =>
    ({
      mark: { type: "text", align: "right", color: TEXT, fontSize: 14 },
      encoding: { x: { value: x }, text },
    }) as const;
  return {
    title: {
      text: title,
      subtitle: subtitle.split("; "),
      color: TEXT,
      subtitleColor: TEXT,
      fontSize: 16,
      subtitleFontSize: 14,
      anchor: "start",
      offset: 14,
    },
    data: { values },
    facet: {
      row: {
        field: "runTime",
        type: "nominal",
        sort: RUN_TIMES.map(titleOf),
        title: null,
        header: {
          labelColor: TEXT,
          labelFontSize: 14,
          labelFontWeight: "bold",
          labelOrient: "top",
          labelAnchor: "start",
        },
      },
    },
    resolve: { scale: { y: "independent" } }, // the quickest first, on each run-time
    spec: {
      width: 220,
      height: { step: 24 },
      encoding: {
        y: {
          field: "contender",
          type: "nominal",
          sort: null,
          axis: { title: null, labelAlign: "left", labelPadding: 150, ticks: false },
        },
        x: {
          field: "value",
          type: "quantitative",
          axis: {
            title: null,
            format: ",d",
            values: axis.slice(0, -1),
            labelFlush: false,
            labelOverlap: false,
            gridColor: GRID,
          },
          scale: { type: "log", domain: [axis[0], axis.at(-1)!] },
        },
      },
      layer: [
        {
          mark: { type: "rule", strokeWidth: 2 },
          encoding: { x: { datum: axis[0] }, x2: { field: "value" }, color },
        },
        { mark: { type: "circle", size: 160, opacity: 1 }, encoding: { color } },
        column(276, { field: "value", format: ",.0f" }),
        column(322, { field: "ratio" }),
      ],
    },
    config: {
      background: "transparent",
      view: { stroke: null },
      axis: { labelColor: TEXT, domainColor: GRID, tickColor: GRID, labelFontSize: 14, labelLimit: 300 },
    },
  };
}
