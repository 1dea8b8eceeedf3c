/** The page of figures: the goals on each run-time, the rows that are lost, and tables with spread. */
import type { Results, Run } from "./_results.ts";
import type { Row } from "./_runner.ts";
import type { Goal, Situation } from "./_situation.ts";
import { figure, goalText, type Verdict, verdictsOf } from "./_verdict.ts";

/** One suite: its situations, and the sessions in which they were measured, the quiet one first. */
export interface Suite {
  readonly title: string;
  readonly situations: readonly Situation[];
  readonly sessions: readonly Results[];
}

export function page(suites: readonly Suite[]): string {
  return [
    HEAD,
    picture("contention", "Nanoseconds a turn of one lock, from 2 to 10,000 tasks; both axes are logarithmic"),
    picture("hand-over", "Milliseconds from one release of a Redis lock to the next entry, on a logarithmic axis"),
    "## Goals\n",
    GOALS,
    ...suites.flatMap(goals),
    "## Rows that we lose\n",
    LOST,
    ...suites.flatMap(lost),
    ...suites.flatMap(figures),
  ].join("\n") + "\n";
}

const HEAD = `# Benchmarks

<!-- Made by \`deno task bench:report\`. -->

\`deno task bench:all\` measures one session, \`deno task bench:all --busy\` another one while a core is kept busy, and
\`deno task bench:report\` makes this page from the sessions listed below. Each contender of a row runs in one process
with the others, in turns and in random order, and in three processes of its own, of which the best counts. The two
differ, because the garbage of one contender can burden the next, and code that has seen one contender only is compiled
better. The machine is a small shared one: less than a third is no difference. Less is better everywhere.
`;

const GOALS =
  `Next to a peer: how many times its figure is ours. Next to a floor or another way of our own: how many times
ours is that. Each is the worst of all sessions, in shared processes and in own ones; behind it, the best. Bold: missed.
Empty: not measured.
`;

const LOST = `Peers with a smaller figure than ours in the quiet session, in the shared process: theirs / ours.
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

function runTimesOf({ sessions }: Suite): string[] {
  return [...new Set(sessions.flatMap(({ runs }) => Object.keys(runs)))];
}

function goals(suite: Suite): string[] {
  const runTimes = runTimesOf(suite);
  const columns = runTimes.map((name) => verdictsOf(suite.situations, name, runsOf(suite, name)));
  const rows = suite.situations.flatMap(({ name, goals = [] }) =>
    goals.flatMap((goal) => {
      const cells = columns.map((verdicts) => verdicts.find((one) => one.situation === name && one.goal === goal));
      return cells.some((cell) => cell)
        ? [[goalName(name, goal, cells), goalText(goal), ...cells.map(verdictCell)]]
        : [];
    })
  );
  return [table([suite.title, "Goal", ...runTimes], rows), ...reasons(columns.flat())];
}

function runsOf({ sessions }: Suite, runTime: string): Run[] {
  return sessions.flatMap(({ runs }) => runs[runTime] ?? []);
}

function goalName(situation: string, { cold }: Goal, cells: readonly (Verdict | undefined)[]): string {
  const others = [...new Set(cells.flatMap((cell) => cell?.with || []))];
  return `${situation}${cold ? ", cold" : ""}${others.length === 0 ? "" : ` _next to ${others.join(" or ")}_`}`;
}

function verdictCell(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "";
  const worst = figure(verdict.worst);
  const best = figure(verdict.best);
  return `${verdict.met ? worst : `**${worst}**`}${best === worst ? "" : ` … ${best}`}`;
}

/** Why goals are missed, each reason once. */
function reasons(verdicts: readonly Verdict[]): string[] {
  const missed = verdicts.filter(({ met }) => !met);
  if (missed.length === 0) return [];
  const list = Array.from(new Set(missed.map(({ goal }) => goal.why)), (why) => {
    const names = new Set(missed.filter(({ goal }) => goal.why === why).map(({ situation }) => situation));
    return `- ${[...names].join("; ")}: ${why ?? "not explained yet."}`;
  });
  return ["The reasons for the missed ones, and the attempts:\n", ...list, ""];
}

function lost(suite: Suite): string[] {
  const runTimes = runTimesOf(suite);
  const first = runTimes.map((name) => runsOf(suite, name)[0]?.rows ?? []);
  const rows = suite.situations.flatMap((situation) =>
    Object.keys(situation.peers).flatMap((peer) => {
      const cells = first.map((rows) => lostCell(situation, peer, rows));
      return cells.some((cell) => cell !== "") ? [[`${situation.name}: ${peer}`, situation.unit, ...cells]] : [];
    })
  );
  return rows.length === 0 ? [] : [table([suite.title, "", ...runTimes], rows)];
}

function lostCell({ name, ours }: Situation, peer: string, rows: readonly Row[]): string {
  const of = (wanted: string) => rows.find(({ situation, contender }) => situation === name && contender === wanted);
  const [theirs, mine] = [of(peer), of(Object.keys(ours)[0]!)];
  return theirs && mine && theirs.median < mine.median ? `${figure(theirs.median)} / ${figure(mine.median)}` : "";
}

function figures(suite: Suite): string[] {
  const { title, situations, sessions } = suite;
  const versions = (session: Results) =>
    Object.entries(session.runs).map(([name, { version }]) => `${name} ${version.replace(/ .*/, "")}`).join(", ");
  const notes = sessions.map((session) => {
    const { date, machine, isBusy, rounds, peers } = session;
    const names = Object.entries(peers).map(([name, version]) => `${name} ${version}`).join(", ");
    return `- ${date}, ${isBusy ? "one core busy" : "quiet"}: ${machine}; ${
      versions(session)
    }; ${rounds} rounds; ${names}`;
  });
  return [`## ${title}\n`, ...notes, "", FIGURES, ...situations.map((one) => tableOf(one, suite))];
}

const FIGURES = `Of the quiet session: medians of the rounds in the shared process, ± half of the distance between the
quartiles; the first three rounds do not count. Cold: the first round of a process of its own, the best of three. A row
without a cold figure was not measured again in the latest session: it keeps the figures of an earlier one.
`;

function tableOf({ name, unit }: Situation, suite: Suite): string {
  const runTimes = runTimesOf(suite);
  const runs = runTimes.map((runTime) => runsOf(suite, runTime)[0]);
  const rows = runs.flatMap((run) => run?.rows ?? []).filter(({ situation }) => situation === name);
  if (rows.length === 0) return "";
  const find = (rows: readonly Row[] | undefined, contender: string) =>
    rows?.find((row) => row.situation === name && row.contender === contender);
  const kinds = new Map(rows.map(({ contender, kind }) => [contender, kind]));
  const isTime = ["ns", "µs", "ms"].includes(unit);
  const body = Array.from(kinds, ([contender, kind]) => [
    kind === "floor" ? `_floor: ${contender}_` : kind === "ours" ? `**${contender}**` : contender,
    ...runs.map((run) => medianCell(find(run?.rows, contender))),
    ...isTime ? runs.map((run) => coldCell(find(run?.alone, contender))) : [],
  ]);
  const head = [unit, ...runTimes, ...isTime ? runTimes.map((runTime) => `${runTime}, cold`) : []];
  return `### ${name}\n\n${table(head, body)}`;
}

function medianCell(row: Row | undefined): string {
  return row === undefined ? "" : `${figure(row.median)} ±${Math.round(row.spread * 50)} %`;
}

function coldCell(row: Row | undefined): string {
  return row?.cold === undefined ? "" : figure(row.cold);
}
