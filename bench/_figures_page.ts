/** docs/benchmarks/figures.md: every figure that was measured. */
import { figure, rowsOf, runsOf, runTimesOf, type Suite, table } from "./_markdown.ts";
import type { Results } from "./_results.ts";
import type { Row } from "./_runner.ts";
import type { Described } from "./_situation.ts";

const HEAD = `# All figures

<!-- Made by \`deno task bench:report\`. -->

[Benchmarks](../benchmarks.md) has the summary. Less is better everywhere. The figures are medians of the rounds of the
quiet session in a process that all contenders share, ± half of the distance between the quartiles; the first three rounds
do not count. Cold: the first round of a process of its own, the best of three. A dash: not measured there. A row without a
cold figure was not measured again in the latest session: it keeps the figures of an earlier one. A _floor_ is the least
that the engine or the server itself takes. Servers are processes of their own, which take turns.
`;

export function figuresPage(suites: readonly Suite[]): string {
  return [HEAD, ...suites.flatMap(figures)].join("\n") + "\n";
}

function figures(suite: Suite): string[] {
  const { title, situations, sessions } = suite;
  return [`## ${title}\n`, ...sessions.map(note), "", ...situations.map((one) => tableOf(one, suite)).filter(Boolean)];
}

function note({ date, machine, isBusy, rounds, peers, runs }: Results): string {
  const versions = Object.entries(runs).map(([name, { version }]) => `${name} ${version.replace(/ .*/, "")}`);
  const names = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
  const state = isBusy ? "one core busy" : "quiet";
  return `- ${date}, ${state}: ${machine}; ${versions.join(", ")}; ${rounds} rounds; ${names.join(", ")}`;
}

function tableOf({ name, unit }: Described, suite: Suite): string {
  const all = runTimesOf(suite).map((runTime) => ({
    runTime,
    rows: rowsOf(suite, runTime).filter(({ situation }) => situation === name),
    alone: runsOf(suite, runTime)[0]?.alone.filter(({ situation }) => situation === name) ?? [],
  }));
  const shared = all.filter(({ rows }) => rows.length > 0);
  if (shared.length === 0) return "";
  const cold = all.filter(({ alone }) => ["ns", "µs", "ms"].includes(unit) && alone.some((row) => row.cold));
  const find = (rows: readonly Row[], wanted: string) => rows.find(({ contender }) => contender === wanted);
  const kinds = new Map(shared.flatMap(({ rows }) => rows).map(({ contender, kind }) => [contender, kind]));
  const body = Array.from(kinds, ([contender, kind]) => [
    kind === "floor" ? `_floor: ${contender}_` : kind === "ours" ? `**${contender}**` : contender,
    ...shared.map(({ rows }) => medianCell(find(rows, contender))),
    ...cold.map(({ alone }) => coldCell(find(alone, contender))),
  ]);
  const names = (runs: typeof all, end = "") => runs.map(({ runTime }) => runTime + end);
  return `### ${name}\n\n${table([unit, ...names(shared), ...names(cold, ", cold")], body)}`;
}

function medianCell(row: Row | undefined): string {
  return row === undefined ? "–" : `${figure(row.median)} ±${Math.round(row.spread * 50)} %`;
}

function coldCell(row: Row | undefined): string {
  return row?.cold === undefined ? "–" : figure(row.cold);
}
