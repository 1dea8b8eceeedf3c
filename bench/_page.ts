/** The page of figures: tables with spread, the goals, and the rows that are lost. */
import type { Results } from "./all.ts";
import type { Row } from "./_runner.ts";
import type { Situation } from "./_situation.ts";
import { figure, goalText, type Verdict, verdictsOf } from "./_verdict.ts";

type Suites<T> = { readonly local: T; readonly redis: T };

export function page(results: Suites<Results>, situations: Suites<readonly Situation[]>): string {
  const first = Object.values(results.local.runs)[0]!.rows.concat(Object.values(results.redis.runs)[0]!.rows);
  const verdicts = [...situations.local, ...situations.redis].flatMap((one) => verdictsOf(one, first));
  return [
    HEAD,
    picture("contention", "Nanoseconds a turn of one lock, from 2 to 10,000 tasks"),
    picture("hand-over", "Milliseconds from one release of a Redis lock to the next entry"),
    "## Goals, on Deno\n",
    GOALS,
    table(["Situation", "Figure", "Goal", "", "Next to"], verdicts.map(goalRow)),
    ...reasons(verdicts),
    "## Rows that we lose\n",
    lost(situations, first),
    ...suite("In one process", results.local, situations.local),
    ...suite("Through Redis", results.redis, situations.redis),
  ].join("\n") + "\n";
}

const HEAD = `# Benchmarks

<!-- Made by \`deno task bench:report\`. -->

\`deno task bench:all\` and \`deno task bench:all --suite redis\` measure, \`deno task bench:report\` makes this page. All
contenders of a row take turns in the same run, in random order; each is compiled at call sites of its own. The
first three rounds do not count. Figures are medians; ± is half of what lies between the quartiles. Less is better everywhere.
The machine is a small shared one: differences of less than a third say little.
`;

const GOALS = `The goals. Next to a peer: how many times its figure is ours. Next to a floor: how many times ours is
the floor.
`;

function picture(name: string, alt: string): string {
  return `<picture>
  <source media="(prefers-color-scheme: dark)" srcset="./benchmarks/${name}-dark.svg">
  <img alt="${alt}" src="./benchmarks/${name}-light.svg">
</picture>
`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => i === 0 ? "---" : "--:")), ...rows.map(line)].join("\n") + "\n";
}

function goalRow({ situation, ratio, goal, with: other, met }: Verdict): string[] {
  return [situation, figure(ratio), goalText(goal), met ? "met" : "**missed**", other];
}

/** Why goals are missed, each reason once. */
function reasons(verdicts: readonly Verdict[]): string[] {
  const missed = verdicts.filter(({ met, goal }) => !met && goal.why !== undefined);
  if (missed.length === 0) return [];
  const list = Array.from(new Set(missed.map(({ goal }) => goal.why)), (why) => {
    const names = missed.filter(({ goal }) => goal.why === why).map(({ situation }) => situation);
    return `- ${names.join("; ")}: ${why}`;
  });
  return ["The reasons for the missed ones, and the attempts:\n", ...list, ""];
}

function lost({ local, redis }: Suites<readonly Situation[]>, rows: readonly Row[]): string {
  const worse = [...local, ...redis].flatMap(({ name, ours }) => {
    const mine = rows.find(({ situation, contender }) => situation === name && contender === Object.keys(ours)[0]);
    return rows.filter((row) => mine && row.situation === name && row.kind === "peer" && row.median < mine.median)
      .map((row) => [name, row.contender, `${figure(row.median)} ${row.unit}`, `${figure(mine!.median)} ${row.unit}`]);
  });
  if (worse.length === 0) return "Nothing, in this run.\n";
  return table(["Situation", "Ahead of us", "Theirs", "Ours"], worse);
}

function suite(title: string, { date, machine, rounds, runs }: Results, situations: readonly Situation[]): string[] {
  const versions = Object.entries(runs).map(([name, { version }]) => `${name} ${version.replace(/^(deno |v)/, "")}`);
  const note = `${date}, ${machine}; ${versions.join(", ")}; ${rounds} rounds.\n`;
  return [`## ${title}\n`, note, ...situations.map((one) => figures(one, runs))];
}

function figures({ name, unit }: Situation, runs: Results["runs"]): string {
  const of = (rows: readonly Row[]) => rows.filter(({ situation }) => situation === name);
  const names = [
    ...new Set(
      Object.values(runs).flatMap(({ rows }) => of(rows).map(({ contender, kind }) => `${kind}:${contender}`)),
    ),
  ];
  if (names.length === 0) return "";
  const body = names.map((text) => {
    const [kind, ...rest] = text.split(":");
    const contender = rest.join(":");
    const cells = Object.values(runs).map(({ rows }) => {
      const row = of(rows).find((one) => one.contender === contender);
      return row ? `${figure(row.median)} ±${Math.round(row.spread * 50)} %` : "";
    });
    return [kind === "floor" ? `_floor: ${contender}_` : kind === "ours" ? `**${contender}**` : contender, ...cells];
  });
  return `### ${name[0]!.toUpperCase()}${name.slice(1)}\n\n${table([unit, ...Object.keys(runs)], body)}`;
}
