/** bench/GOALS.md: the goals on each run-time, for its contributors. */
import { figure, runsOf, runTimesOf, type Suite, table } from "./_markdown.ts";
import type { Goal } from "./_situation.ts";
import { goalText, type Verdict, verdictsOf } from "./_verdict.ts";

const HEAD = `# Goals

<!-- Made by \`deno task bench:report\`. -->

For contributors: \`docs/benchmarks.md\` is the page for readers who choose a package. Next to a peer: how many times its
figure is ours. Next to a floor or to another way of our own: how many times ours is that. Each is the worst of all
sessions, in shared processes and in own ones; behind it, the best. Bold: below the goal, which may be a figure that is
still better than the peer's. Empty: not measured.

The check for Cloudflare Workers, whose waits have timers of their own (\`timersEndWithRequest\`, a constant that is false
elsewhere), costs nothing that shows: CPU time of a turn of a lock that 100 tasks share, next to the same tree without the
check, in 20 interleaved rounds of processes of their own beside other work: 0.90 (Node 20.20) and 1.00 (Deno 2.9.6), with a
time-out for each wait 1.05 and 0.98; medians of the rounds' ratios. Next to commit 2c70095, which had no such check, a
turn takes 1.01 and 1.05, with a time-out 1.20 and 1.20, which other changes cost, not this check.
`;

export function goalsPage(suites: readonly Suite[]): string {
  return [HEAD, ...suites.flatMap(goals)].join("\n") + "\n";
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
  return [`## ${suite.title}\n`, table(["", "Goal", ...runTimes], rows), ...reasons(columns.flat())];
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
  return ["Reasons and attempts:\n", ...list, ""];
}
