/** Verdicts: our figures next to those of the peers. */
import type { Run } from "./_results.ts";
import type { Row } from "./_runner.ts";
import type { Described, Goal } from "./_situation.ts";

/** A goal on one run-time, over all sessions. */
export interface Verdict {
  readonly situation: string;
  readonly goal: Goal;
  /**
   * The worst ratio seen. For peers: their best figure over ours. For floors and our own: ours over theirs. For values:
   * ours.
   */
  readonly worst: number;
  readonly best: number;
  /** The contender of the worst ratio. */
  readonly with: string;
  readonly met: boolean;
}

/** The verdicts on one run-time, on those goals that have a contender to compare with. */
export function verdictsOf(situations: readonly Described[], runTime: string, runs: readonly Run[]): Verdict[] {
  return situations.flatMap((situation) =>
    (situation.goals ?? []).flatMap((goal) => verdictOf(situation, goal, runTime, runs) ?? [])
  );
}

interface Compared {
  readonly ratio: number;
  readonly with: string;
}

function verdictOf(situation: Described, goal: Goal, runTime: string, runs: readonly Run[]): Verdict | undefined {
  const tables = runs.flatMap(({ rows, alone }) => goal.cold ? [alone.map(cold)] : [rows, alone]);
  const isHigh = goal.against === "peer";
  const [worst, ...others] = tables.flatMap((rows) => compared(situation, goal, rows) ?? [])
    .sort((a, b) => isHigh ? a.ratio - b.ratio : b.ratio - a.ratio);
  if (worst === undefined) return undefined;
  const ratio = ratioOf(goal, runTime);
  return {
    situation: situation.name,
    goal,
    worst: worst.ratio,
    best: (others.at(-1) ?? worst).ratio,
    with: worst.with,
    met: isHigh ? worst.ratio >= ratio : worst.ratio <= ratio,
  };
}

function cold(row: Row): Row {
  return { ...row, median: row.cold ?? NaN };
}

/** Our figure next to the best of those that count, in one table. */
function compared({ name, ours }: Described, goal: Goal, table: readonly Row[]): Compared | undefined {
  const rows = table.filter(({ situation }) => situation === name);
  const mine = rows.find(({ contender }) => contender === Object.keys(ours)[0]);
  if (mine === undefined) return undefined;
  if (goal.against === "value") return { ratio: mine.median, with: "" };
  const best = rows.filter(({ kind, contender }) => kind === goal.against && contender !== mine.contender)
    .filter(({ contender }) => goal.named === undefined || goal.named.includes(contender))
    .sort((a, b) => a.median - b.median)[0];
  if (best === undefined) return undefined;
  const ratio = goal.against === "peer" ? best.median / mine.median : mine.median / best.median;
  return { ratio, with: best.contender };
}

function ratioOf({ ratio, bun = ratio, deno = ratio }: Goal, runTime: string): number {
  return runTime === "bun" ? bun : runTime === "deno" ? deno : ratio;
}

/** As a goal is written. */
export function goalText({ against, ratio, bun, deno }: Goal): string {
  const sign = against === "peer" ? "≥" : "≤";
  const other = (name: string, value: number | undefined) => value === undefined ? "" : `, ${name} ${sign} ${value}`;
  return `${sign} ${ratio.toLocaleString("en")}${other("Bun", bun)}${other("Deno", deno)}`;
}
